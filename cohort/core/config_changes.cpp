// What differs between two readings of one recipe.
#include <algorithm>

#include "cohort/core/config_io.h"
#include "cohort/core/config_values.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

std::string shown_value(const Field& field) {
  std::string text = value_text(field);
  return text.empty() ? "unset" : text;
}

void append_changes(const Section& before, const Section& now, const std::string& prefix,
                    std::vector<SettingChange>& changes);

void append_item_changes(const SectionList& before, const SectionList& now, const std::string& prefix,
                         std::vector<SettingChange>& changes) {
  const std::vector<Section> old_items = before.items(), new_items = now.items();
  for (size_t i = 0; i < std::max(old_items.size(), new_items.size()); ++i) {
    const std::string key = str(prefix, now.name, ".", i);
    if (i >= old_items.size()) {
      changes.push_back({key, "absent", "a table"});
    } else if (i >= new_items.size()) {
      changes.push_back({key, "a table", "absent"});
    } else {
      append_changes(old_items[i], new_items[i], key + ".", changes);
    }
  }
}

void append_changes(const Section& before, const Section& now, const std::string& prefix,
                    std::vector<SettingChange>& changes) {
  for (size_t i = 0; i < now.fields.size(); ++i) {
    const std::string old_value = shown_value(before.fields[i]), new_value = shown_value(now.fields[i]);
    if (old_value != new_value)
      changes.push_back({prefix + now.fields[i].name, old_value, new_value, now.fields[i].on_resume});
  }
  for (size_t i = 0; i < now.sections.size(); ++i)
    append_changes(before.sections[i], now.sections[i], prefix + now.sections[i].name + ".", changes);
  for (size_t i = 0; i < now.lists.size(); ++i)
    append_item_changes(before.lists[i], now.lists[i], prefix, changes);
}

}  // namespace

std::vector<SettingChange> changed_settings(const Section& before, const Section& now) {
  std::vector<SettingChange> changes;
  append_changes(before, now, "", changes);
  return changes;
}

}  // namespace cohort
