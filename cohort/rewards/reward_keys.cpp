#include "cohort/rewards/reward_keys.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>

#include "cohort/core/config_values.h"
#include "cohort/core/error.h"

namespace cohort {
namespace {

/// What the types that have a key say of it.
struct Meaning {
  std::string text;
  std::vector<std::string> types;
};

/// Such as "`http` and `judge`".
std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
    list += "`" + names[i] + "`";
  }
  return list;
}

std::string joined(const std::vector<Meaning>& meanings) {
  std::string text;
  for (const Meaning& meaning : meanings) {
    std::string words = meaning.text;
    if (!words.empty()) words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
    text += str(text.empty() ? "" : " ", "For ", listed(meaning.types), ": ", words);
  }
  return text;
}

void add_meaning(std::vector<Meaning>& meanings, const std::string& text, const std::string& type) {
  const auto is_same = [&](const Meaning& meaning) { return meaning.text == text; };
  const auto found = std::find_if(meanings.begin(), meanings.end(), is_same);
  if (found == meanings.end()) {
    meanings.push_back({text, {type}});
  } else {
    found->types.push_back(type);
  }
}

[[noreturn]] void refuse_key(const RewardConfig& config, const std::string& key, const std::string& heeded) {
  throw ConfigError(str("reward ", config.name, ": `", key, "` has no effect on type \"", config.kind(), "\"",
                        heeded.empty() ? ", which has no keys" : str(", which heeds ", heeded),
                        "; remove it"));
}

}  // namespace

std::string key_names(const RewardType& type) {
  std::string names;
  for (const Field& field : type.maker.own_keys().fields) names += (names.empty() ? "" : " ") + field.name;
  return names;
}

std::vector<Field> all_keys(const RewardTypes& types) {
  std::vector<Field> fields;
  std::map<std::string, std::vector<Meaning>> meanings;
  for (const RewardType& type : types) {
    for (const Field& field : type.maker.own_keys().fields) {
      if (!meanings.contains(field.name)) fields.push_back(field);
      add_meaning(meanings[field.name], field.meaning, type.name);
    }
  }
  for (Field& field : fields) field.meaning = joined(meanings.at(field.name));
  return fields;
}

void check_keys(const RewardConfig& config, const std::string& heeded, const std::vector<Field>& known) {
  std::istringstream words(heeded);
  std::set<std::string> settled{std::istream_iterator<std::string>(words), {}};
  FieldTable given = config.keys, unset;
  for (const Field& field : known) {
    if (!settled.insert(field.name).second) continue;
    if (value_text(field_in(given, field)) != value_text(field_in(unset, field)))
      refuse_key(config, field.name, heeded);
  }
  for (const auto& [key, value] : config.keys) {
    if (!settled.contains(key) && !is_empty(value)) refuse_key(config, key, heeded);
  }
}

}  // namespace cohort
