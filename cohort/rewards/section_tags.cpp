#include "cohort/rewards/section_tags.h"

#include <algorithm>
#include <cctype>

#include "cohort/core/error.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

/// The first of `tags` with which `text` ends, white space between them aside; all of them are a finished
/// format, which the completion does not go on with.
std::string tags_at_end(std::string_view text, const std::vector<std::string>& tags) {
  for (size_t count = tags.size() - 1; count > 0; --count) {
    std::string_view rest = trim(text);
    size_t left = count;
    while (left > 0 && rest.ends_with(tags[left - 1])) {
      rest = trim(rest.substr(0, rest.size() - tags[left - 1].size()));
      --left;
    }
    if (left > 0) continue;
    std::string joined;
    for (size_t i = 0; i < count; ++i) joined += tags[i];
    return joined;
  }
  return {};
}

/// The assistant's message that the completion goes on with, from the first tag on.
std::string begun_message(const Prompt& prompt, const std::vector<std::string>& tags) {
  const auto messages = prompt.fields.find("prompt_messages");
  if (messages == prompt.fields.end() || !messages->is_array() || messages->empty()) return {};
  const Json& last = messages->back();
  if (!last.is_object() || last.value("role", Json()) != "assistant") return {};
  const Json content = last.value("content", Json());
  if (!content.is_string()) return {};
  const std::string text = content.get<std::string>();
  const size_t begin = text.find(tags.front());
  if (begin == std::string::npos || text.find(tags.back()) != std::string::npos) return {};
  return text.substr(begin);
}

}  // namespace

void SectionTagKeys::describe(FieldVisitor& f) {
  f("tags", tags, "The sections of a completion, in order; think and answer when empty.");
}

std::vector<std::string> section_tags(const RewardConfig& config) {
  std::vector<std::string> names = read_keys<SectionTagKeys>(config).tags;
  if (names.empty()) names = {"think", "answer"};
  std::vector<std::string> tags;
  for (const std::string& name : names) {
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '|' || c == ':';
    });
    if (!is_name)
      throw ConfigError(str("reward ", config.name, ": `tags` holds \"", name, "\", which is no name"));
    const std::string opening = "<" + name + ">";
    if (std::find(tags.begin(), tags.end(), opening) != tags.end())
      throw ConfigError(str("reward ", config.name, ": `tags` holds \"", name, "\" twice"));
    tags.push_back(opening);
    tags.push_back("</" + name + ">");
  }
  return tags;
}

std::string tagged_text(const Prompt& prompt, const Completion& completion,
                        const std::vector<std::string>& tags) {
  if (trim(completion.text).starts_with(tags.front())) return completion.text;
  std::string begun = begun_message(prompt, tags);
  if (begun.empty()) begun = tags_at_end(prompt.text, tags);
  return begun + completion.text;
}

std::string thinking_text(const Prompt& prompt, const Completion& completion) {
  return tagged_text(prompt, completion, {"<think>", "</think>"});
}

std::vector<Remark> count_tags(std::string_view text, const std::vector<std::string>& tags) {
  std::vector<Remark> remarks;
  for (const std::string& tag : tags) {
    int64_t count = 0;
    size_t first = std::string_view::npos;
    for (size_t at = text.find(tag); at != std::string_view::npos; at = text.find(tag, at + tag.size())) {
      if (count++ == 0) first = at;
    }
    remarks.push_back(
        {tag, count == 0 ? "missing" : str(count, count == 1 ? " time" : " times", ", at byte ", first + 1)});
  }
  return remarks;
}

}  // namespace cohort
