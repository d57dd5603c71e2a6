#include "cohort/rewards/judge/judge_answer.h"

#include <optional>

#include "cohort/core/jsonl_reader.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 16;
/// Braces from which an object is tried to be read: the work is at most this times kMaxBytes.
constexpr int kMaxTries = 256;

/// The end of the object that opens at `begin`, behind its brace; nothing where it does not close.
std::optional<size_t> object_end(std::string_view text, size_t begin) {
  int64_t depth = 0;
  bool is_string = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (is_string) {
      if (c == '\\') ++i;
      is_string = c != '"';
    } else if (c == '"') {
      is_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::nullopt;
}

struct Objects {
  std::vector<Json> values;  // those that no other holds, in order
  size_t end = 0;            // behind the last one
  bool is_complete = true;   // false where there were too many braces to look at
};

/// Nothing for what is no JSON, or has a key twice.
std::optional<Json> read_object(std::string_view text) {
  try {
    return parse_row(std::string(text), "judge", 1);
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

Objects find_objects(std::string_view text) {
  Objects found;
  int num_tries = 0;
  for (size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at)) {
    if (++num_tries > kMaxTries) {
      found.is_complete = false;
      break;
    }
    const std::optional<size_t> end = object_end(text, at);
    std::optional<Json> object = end ? read_object(text.substr(at, *end - at)) : std::nullopt;
    if (!object) {
      ++at;  // perhaps a later brace opens one
      continue;
    }
    found.values.push_back(std::move(*object));
    found.end = at = *end;
  }
  return found;
}

/// The message without its thinking, the white space around it and a fence's end.
std::string_view said(std::string_view message) {
  constexpr std::string_view kClose = "</think>", kFence = "```";
  message = trim(message);
  if (message.starts_with("<think>")) {
    const size_t close = message.find(kClose);
    message = close == std::string_view::npos ? "" : message.substr(close + kClose.size());
  }
  message = trim(message);
  if (message.ends_with(kFence)) message.remove_suffix(kFence.size());
  return trim(message);
}

bool has_scores(const Json& answer, const JudgeScale& scale) {
  for (const std::string& name : scale.criteria) {
    if (!answer.contains(name)) return false;
  }
  return true;
}

bool same_scores(const Json& one, const Json& other, const JudgeScale& scale) {
  for (const std::string& name : scale.criteria) {
    if (one.at(name) != other.at(name)) return false;
  }
  return true;
}

JudgeVote read_scores(const Json& answer, const JudgeScale& scale) {
  JudgeVote vote;
  for (const std::string& name : scale.criteria) {
    const auto value = answer.find(name);
    if (value == answer.end()) return {{}, str("the judge gave no score for ", excerpt(name))};
    const double score = value->is_number() ? value->get<double>() : -1.0;
    if (!(score >= 0.0 && score <= static_cast<double>(scale.max_score))) {
      return {{},
              str("the judge's score for ", excerpt(name), " is no number from 0 to ", scale.max_score, ": ",
                  excerpt(to_json_text(*value)))};
    }
    vote.scores.push_back(score);
  }
  return vote;
}

/// The objects of a message that ends with one, or why there are none.
struct Answers {
  std::vector<Json> objects;
  std::string failure;
};

Answers read_answers(std::string_view message) {
  if (message.size() > kMaxBytes) return {{}, str("the judge's message has more than ", kMaxBytes, " bytes")};
  const std::string_view text = said(message);
  Objects objects = find_objects(text);
  if (!objects.is_complete) return {{}, "the judge's message has too many braces"};
  if (objects.values.empty() || objects.end != text.size())
    return {{}, str("the judge's message does not end with a JSON object: ", excerpt(text))};
  return {std::move(objects.values), ""};
}

constexpr const char* kTwoAnswers = "the judge's message holds two answers that differ";

/// The place of the trajectory that an entry names, counted from 0; -1 if it names none.
int64_t place_of(const Json& entry, int64_t num_trajectories) {
  const auto id = entry.find("trajectory_id");
  if (id == entry.end()) return -1;
  const std::string text = string_or_json(*id);
  for (int64_t i = 0; i < num_trajectories; ++i) {
    if (text == std::to_string(i + 1)) return i;
  }
  return -1;
}

std::string text_in(const Json& entry, const char* name) {
  const auto text = entry.find(name);
  return text != entry.end() && text->is_string() ? text->get<std::string>() : "";
}

JudgeVote read_group_scores(const Json& answer, int64_t num_trajectories) {
  constexpr double kNone = -1.0;
  const auto entries = answer.find("scores");
  if (entries == answer.end() || !entries->is_array()) return {{}, "the judge gave no list \"scores\""};
  JudgeVote vote{std::vector<double>(num_trajectories, kNone), "",
                 std::vector<std::string>(num_trajectories)};
  for (const Json& entry : *entries) {
    const int64_t place = entry.is_object() ? place_of(entry, num_trajectories) : -1;
    if (place < 0)
      return {{}, str("the judge scored none of the trajectories: ", excerpt(to_json_text(entry)))};
    if (vote.scores[place] != kNone) return {{}, str("the judge scored trajectory ", place + 1, " twice")};
    const auto value = entry.find("score");
    const double score = value != entry.end() && value->is_number() ? value->get<double>() : kNone;
    if (!(score >= 0.0 && score <= 1.0))
      return {{}, str("the judge's score for trajectory ", place + 1, " is no number from 0 to 1")};
    vote.scores[place] = score;
    vote.explanations[place] = text_in(entry, "explanation");
  }
  for (int64_t i = 0; i < num_trajectories; ++i) {
    if (vote.scores[i] == kNone) return {{}, str("the judge gave no score for trajectory ", i + 1)};
  }
  return vote;
}

}  // namespace

JudgeVote read_judge_vote(std::string_view message, const JudgeScale& scale) {
  const Answers answers = read_answers(message);
  if (answers.objects.empty()) return {{}, answers.failure};
  const Json& answer = answers.objects.back();
  JudgeVote vote = read_scores(answer, scale);
  if (vote.scores.empty()) return vote;
  for (const Json& other : answers.objects) {
    if (has_scores(other, scale) && !same_scores(other, answer, scale)) return {{}, kTwoAnswers};
  }
  return vote;
}

JudgeVote read_group_vote(std::string_view message, int64_t num_trajectories) {
  const Answers answers = read_answers(message);
  if (answers.objects.empty()) return {{}, answers.failure};
  JudgeVote vote = read_group_scores(answers.objects.back(), num_trajectories);
  for (const Json& other : answers.objects) {
    if (vote.scores.empty()) break;
    const JudgeVote quoted = read_group_scores(other, num_trajectories);
    if (!quoted.scores.empty() && quoted.scores != vote.scores) return {{}, kTwoAnswers};
  }
  return vote;
}

}  // namespace cohort
