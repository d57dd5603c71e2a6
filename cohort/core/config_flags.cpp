// Reading settings from the command line.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "cohort/core/config_io.h"
#include "cohort/core/config_values.h"
#include "cohort/core/error.h"
#include "cohort/core/peer_keys.h"

namespace cohort {
namespace {

/// Appends to a list whose next index `name` speaks of, such as reward.2.weight when there are two rewards.
void grow_list(const Section& section, const std::string& prefix, const std::string& name) {
  for (const Section& child : section.sections) grow_list(child, prefix + child.name + ".", name);
  for (const SectionList& list : section.lists) {
    const size_t size = list.items().size();
    if (name.starts_with(str(prefix, list.name, ".", size, "."))) list.resize(size + 1);
  }
}

class FlagReader {
 public:
  FlagReader(const Section& settings, const std::vector<std::string>& arguments)
      : settings_(settings), arguments_(arguments) {}

  std::vector<std::string> read() {
    std::vector<std::string> others;
    while (next_ < arguments_.size()) {
      const std::string& argument = arguments_[next_++];
      if (argument.size() > 1 && argument[0] == '-') {
        read_flag(argument);
      } else {
        others.push_back(argument);
      }
    }
    return others;
  }

 private:
  void read_flag(const std::string& argument) {
    const size_t equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    const KeyedField target = find(flag);
    const std::string type = type_name(target.field);
    std::string text;
    if (equals != std::string::npos) {
      text = argument.substr(equals + 1);
    } else if (type == "bool" && !is_truth_value_next()) {
      text = "true";
    } else if (next_ < arguments_.size()) {
      text = arguments_[next_++];
    } else {
      throw ConfigError(str(flag, " needs a value: ", with_article(target.field)));
    }
    assign(target, value_of(target, type, text), flag + ": ");
  }

  bool is_truth_value_next() const {
    return next_ < arguments_.size() && (arguments_[next_] == "true" || arguments_[next_] == "false");
  }

  KeyedField find(const std::string& flag) const {
    if (!flag.starts_with("--"))
      throw ConfigError(str("unknown flag ", flag, "; flags begin with two dashes"));
    const std::string name = with_underscores(flag.substr(2), '-');
    grow_list(settings_, "", name);
    std::vector<KeyedField> with_leaf;
    for (const KeyedField& candidate : all_fields(settings_)) {
      if (candidate.key == name || with_underscores(candidate.key, '.') == name) return candidate;
      if (candidate.field.name == name && !candidate.is_in_list) with_leaf.push_back(candidate);
    }
    if (with_leaf.empty()) throw_unknown_key(settings_, name, flag + ": ");
    std::vector<std::string> keys = other_meanings(name);
    for (const KeyedField& candidate : with_leaf) {
      if (std::find(keys.begin(), keys.end(), candidate.key) == keys.end()) keys.push_back(candidate.key);
    }
    if (keys.size() == 1) return with_leaf[0];
    std::string choices;
    for (const std::string& key : keys) choices += (choices.empty() ? "--" : " or --") + key;
    throw ConfigError(str(flag, " is ambiguous: write ", choices));
  }

  /// The keys that a short name stands for in other tools: --lr must not reach the critic's in silence.
  std::vector<std::string> other_meanings(const std::string& name) const {
    const std::optional<PeerKey> peer = find_peer_key(name);
    return peer ? present_peer_keys(*peer, documented_keys(settings_)) : std::vector<std::string>();
  }

  /// The text as the field's type, or as the string that it is when it doesn't read so; `assign` then refuses
  /// it.
  SettingValue value_of(const KeyedField& target, const std::string& type, const std::string& text) {
    const char* end = text.data() + text.size();
    if (type == "bool" && (text == "true" || text == "false")) return text == "true";
    if (int64_t value = 0; type == "integer" || type == "list of integers") {
      const std::from_chars_result result = std::from_chars(text.data(), end, value);
      if (result.ec != std::errc() || result.ptr != end) return text;
      if (type == "integer") return value;
      std::vector<int64_t>& integers = given_integers_[target.key];
      integers.push_back(value);
      return integers;
    }
    if (double value = 0; type == "number") {
      const std::from_chars_result result = std::from_chars(text.data(), end, value);
      if (result.ec == std::errc() && result.ptr == end) return value;
    }
    if (type == "list of strings") {
      std::vector<std::string>& strings = given_lists_[target.key];
      strings.push_back(text);
      return strings;
    }
    if (const size_t equals = text.find('='); type == "table of strings" && equals != std::string::npos) {
      std::map<std::string, std::string>& table = given_tables_[target.key];
      table[text.substr(0, equals)] = text.substr(equals + 1);
      return table;
    }
    if (const size_t equals = text.find('=');
        (type == "table of integers" || type == "table of numbers") && equals != std::string::npos) {
      double value = 0;
      const std::from_chars_result result = std::from_chars(text.data() + equals + 1, end, value);
      if (result.ec != std::errc() || result.ptr != end) return text;
      std::map<std::string, double>& table = given_numbers_[target.key];
      table[text.substr(0, equals)] = value;
      return table;
    }
    if (const size_t equals = text.find('='); type == "table of values" && equals != std::string::npos) {
      ScalarTable& table = given_scalars_[target.key];
      table[text.substr(0, equals)] = scalar_of(text.substr(equals + 1));
      return table;
    }
    return text;
  }

  /// true, false or a number where the text reads so; else the text.
  static ScalarTable::mapped_type scalar_of(const std::string& text) {
    if (text == "true" || text == "false") return text == "true";
    const char* end = text.data() + text.size();
    int64_t integer = 0;
    if (const auto read = std::from_chars(text.data(), end, integer);
        read.ec == std::errc() && read.ptr == end)
      return integer;
    double number = 0;
    if (const auto read = std::from_chars(text.data(), end, number);
        read.ec == std::errc() && read.ptr == end && std::isfinite(number))
      return number;
    return text;
  }

  const Section& settings_;
  const std::vector<std::string>& arguments_;
  size_t next_ = 0;
  std::map<std::string, std::vector<std::string>> given_lists_;
  std::map<std::string, std::vector<int64_t>> given_integers_;
  std::map<std::string, std::map<std::string, std::string>> given_tables_;
  std::map<std::string, std::map<std::string, double>> given_numbers_;
  std::map<std::string, ScalarTable> given_scalars_;
};

}  // namespace

std::vector<std::string> apply_flags(const Section& settings, const std::vector<std::string>& arguments) {
  return FlagReader(settings, arguments).read();
}

}  // namespace cohort
