#include "cohort/rewards/judge/ruler_prompt.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/rewards/judge/marks.h"

namespace cohort {
namespace {

constexpr std::string_view kRubric =
    "- Any trajectory that reaches the goal scores clearly above any that does not.\n"
    "- Among those that reach it, one without detours scores above one with detours.\n"
    "- Progress without reaching the goal earns a part of the score.\n"
    "- Small differences in quality are small differences in score, and large ones are large.";

Json message(const char* role, const std::string& content) { return {{"role", role}, {"content", content}}; }

/// The prompt's messages and those of the completion.
Json messages_of(const RewardRow& row) {
  const Json& fields = row.prompt.fields;
  const auto chat = fields.find("prompt_messages");
  Json messages =
      chat != fields.end() && chat->is_array() ? *chat : Json::array({message("user", row.prompt.text)});
  if (!row.completion.episode) {
    messages.push_back(message("assistant", row.completion.text));
    return messages;
  }
  const EpisodeRecord& episode = *row.completion.episode;
  if (!episode.opening.empty()) messages.push_back(message("user", episode.opening));
  for (const Json& turn : episode.messages) messages.push_back(turn);
  return messages;
}

/// How many messages all of `trajectories` begin with.
size_t common_messages(const std::vector<Json>& trajectories) {
  const Json& first = trajectories.front();
  for (size_t i = 0; i < first.size(); ++i) {
    for (const Json& other : trajectories) {
      if (other.size() <= i || other[i] != first[i]) return i;
    }
  }
  return first.size();
}

/// A line for each message of `messages` from `first` up to `end`.
std::string lines_of(const Json& messages, size_t first, size_t end) {
  std::string text;
  for (size_t i = first; i < end; ++i) text += (i == first ? "" : "\n") + to_json_text(messages[i]);
  return text;
}

std::string instructions(const std::string& rubric, size_t num_trajectories, const std::string& mark) {
  return str(
      data_warning(mark),
      "The trajectories have the same goal; what is named \"context\" begins each of them. Compare them "
      "and give each a score from 0 to 1.\n",
      rubric,
      "\nAnswer with one JSON object and nothing after it: {\"scores\": [{\"trajectory_id\": \"1\", "
      "\"explanation\": \"one sentence\", \"score\": number}, ...]}, in which each of the ",
      num_trajectories, " trajectories stands once.");
}

Json answer_schema(int64_t num_trajectories) {
  Json ids = Json::array();
  for (int64_t i = 1; i <= num_trajectories; ++i) ids.push_back(std::to_string(i));
  const Json entry = {{"type", "object"},
                      {"properties",
                       {{"trajectory_id", {{"type", "string"}, {"enum", std::move(ids)}}},
                        {"explanation", {{"type", "string"}}},
                        {"score", {{"type", "number"}}}}},
                      {"required", {"trajectory_id", "explanation", "score"}},
                      {"additionalProperties", false}};
  return {{"type", "object"},
          {"properties", {{"scores", {{"type", "array"}, {"items", entry}}}}},
          {"required", Json::array({"scores"})},
          {"additionalProperties", false}};
}

}  // namespace

RulerPrompt::RulerPrompt(const std::string& rubric, const std::string& where)
    : rubric_(rubric.empty() ? std::string(kRubric) : read_rubric(rubric, where), where + "`rubric`: ") {
  for (const std::string& name : rubric_.names()) {
    if (name == "prompt" || name == "completion") {
      throw ConfigError(
          str(where, "`rubric` holds {", name, "}: RULER's judge sees all messages without it; remove it"));
    }
  }
}

std::optional<std::string> RulerPrompt::refusal(std::span<const RewardRow> rows) const {
  constexpr size_t kMaxBytes = size_t{4} << 20;
  const Json& fields = rows.front().prompt.fields;
  for (const std::string& name : rubric_.names()) {
    if (!fields.contains(name) || fields.at(name).is_null())
      return str("the row has no column \"", name, "\" of the rubric");
  }
  size_t num_bytes = 0;
  for (const RewardRow& row : rows) num_bytes += to_json_text(messages_of(row)).size();
  if (num_bytes > kMaxBytes)
    return str("the group has more than ", kMaxBytes, " bytes, too many for a judge");
  return std::nullopt;
}

std::string RulerPrompt::rubric_text(const Prompt& prompt, const std::string& mark) const {
  return rubric_.fill([&](const std::string& name) {
    return between_marks(name, mark, string_or_json(prompt.fields.at(name)));
  });
}

RulerQuestion RulerPrompt::question(std::span<const RewardRow> rows) const {
  RulerQuestion question;
  std::vector<Json> trajectories;
  for (const RewardRow& row : rows) {
    Json messages = messages_of(row);
    const auto found = std::ranges::find(trajectories, messages);
    question.shown.push_back(found - trajectories.begin());
    if (found == trajectories.end()) trajectories.push_back(std::move(messages));
  }
  // One trajectory is shown whole.
  const size_t common = trajectories.size() == 1 ? 0 : common_messages(trajectories);
  const Prompt& prompt = rows.front().prompt;
  std::string everything;
  for (const Json& messages : trajectories) everything += lines_of(messages, 0, messages.size()) + "\n";
  for (const std::string& name : rubric_.names()) everything += string_or_json(prompt.fields.at(name)) + "\n";
  const std::string mark = mark_for(everything);
  std::string text;
  if (common > 0) text = between_marks("context", mark, lines_of(trajectories.front(), 0, common)) + "\n";
  for (size_t i = 0; i < trajectories.size(); ++i) {
    const std::string lines = lines_of(trajectories[i], common, trajectories[i].size());
    text += between_marks(str("trajectory ", i + 1), mark, lines) + "\n";
  }
  const auto number = std::ssize(trajectories);
  question.asked = {Json::array({message("system", instructions(rubric_text(prompt, mark), number, mark)),
                                 message("user", text)}),
                    answer_schema(number),
                    [number](std::string_view said) { return read_group_vote(said, number); }};
  return question;
}

}  // namespace cohort
