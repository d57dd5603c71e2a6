#include "cohort/train/setting_help.h"

#include <algorithm>
#include <iterator>

#include "cohort/core/config_io.h"
#include "cohort/train/adversarial/adversarial_config.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/preference/dpo_config.h"
#include "cohort/train/reward/reward_train_config.h"
#include "cohort/train/supervised/sft_config.h"

namespace cohort {
namespace {

/// The default of a field in TOML's notation.
std::string default_of(const Field& field) {
  Section section;
  section.fields.push_back(field);
  const std::string toml = to_toml(section);
  const size_t mark = toml.find(" = ");
  if (mark == std::string::npos) return "";
  std::string value = toml.substr(mark + 3);
  while (value.ends_with('\n')) value.pop_back();
  return value;
}

SettingHelp help_of(const Field& field, const std::string& key) {
  Section section;
  section.fields.push_back(field);
  section.fields.front().name = key;
  return {key,
          {},
          to_help(section),
          field.meaning,
          default_of(field),
          field.limits.describe(),
          field.limits.choices};
}

class HelpList {
 public:
  void add(const Section& section, const std::string& place, const std::string& prefix = "") {
    for (const Field& field : section.fields) add_field(field, prefix + field.name, place);
    for (const Section& child : section.sections) add(child, place, prefix + child.name + ".");
    for (const SectionList& list : section.lists) add(list.prototype(), place, prefix + list.name + ".");
  }

  std::vector<SettingHelp> take() { return std::move(all_); }

 private:
  void add_field(const Field& field, const std::string& key, const std::string& place) {
    SettingHelp help = help_of(field, key);
    const auto known = std::ranges::find_if(
        all_, [&](const SettingHelp& other) { return other.key == key && other.text == help.text; });
    SettingHelp& own = known != all_.end() ? *known : all_.emplace_back(std::move(help));
    own.places.push_back(place);
  }

  std::vector<SettingHelp> all_;
};

std::vector<SettingHelp> all_settings() {
  TrainConfig train;
  AdversarialConfig adversarial;
  SftConfig sft;
  DpoConfig dpo;
  RewardTrainConfig reward_train;
  HelpList list;
  list.add(settings_of(train), "cohort train");
  list.add(settings_of(adversarial), "cohort adversarial-train");
  list.add(settings_of(sft), "cohort sft");
  list.add(settings_of(dpo), "cohort dpo");
  list.add(settings_of(reward_train), "cohort reward-train");
  return list.take();
}

/// Without the dashes of a flag and without indexes, dashes as underscores.
std::string normal_key(std::string name) {
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  std::ranges::replace(name, '-', '_');
  std::string key;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (!is_index) key += (key.empty() ? "" : ".") + part;
    begin = end + 1;
  }
  return key;
}

}  // namespace

std::vector<SettingHelp> find_setting_help(const std::string& name) {
  const std::string key = normal_key(name);
  const std::vector<SettingHelp> all = all_settings();
  std::vector<SettingHelp> found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const SettingHelp& each) { return each.key == key; });
  if (found.empty() && !key.empty())
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const SettingHelp& each) { return each.key.ends_with("." + key); });
  return found;
}

std::vector<std::string> setting_keys() {
  std::vector<std::string> keys;
  for (const SettingHelp& each : all_settings()) {
    if (std::ranges::find(keys, each.key) == keys.end()) keys.push_back(each.key);
  }
  return keys;
}

Json to_json(const SettingHelp& setting) {
  return {{"key", setting.key},
          {"places", setting.places},
          {"meaning", setting.meaning},
          {"default", setting.default_value.empty() ? Json(nullptr) : Json(setting.default_value)},
          {"limits", setting.limits},
          {"choices", setting.choices}};
}

}  // namespace cohort
