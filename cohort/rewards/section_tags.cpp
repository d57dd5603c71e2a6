#include "cohort/rewards/section_tags.h"

#include <algorithm>
#include <cctype>

#include "cohort/core/error.h"

namespace cohort {

std::vector<std::string> section_tags(const RewardConfig& config) {
  const std::vector<std::string> names =
      config.tags.empty() ? std::vector<std::string>{"think", "answer"} : config.tags;
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
