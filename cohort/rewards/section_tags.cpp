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

}  // namespace cohort
