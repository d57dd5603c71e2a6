// Reading settings from TOML and writing them.
#include <toml++/toml.h>

#include "cohort/core/config_io.h"
#include "cohort/core/config_values.h"
#include "cohort/core/error.h"
#include "cohort/core/input_file.h"

namespace cohort {
namespace {

/// Sets what one TOML table names; `root` and `source` serve the errors.
class TomlReader {
 public:
  TomlReader(const Section& root, const std::string& source) : root_(root), source_(source) {}

  void read_table(const toml::table& table, const Section& section, const std::string& prefix) const {
    for (const auto& [toml_key, node] : table) {
      const std::string name(toml_key.str()), key = prefix + name;
      if (read_node(node, section, name, key)) continue;
      // An inline table is a value, and so is a list of them.
      const toml::table* child = node.as_table();
      if ((child != nullptr && !child->is_inline()) || node.is_array_of_tables())
        throw_unknown_section(section, prefix, name, node.is_array(), where(toml_key.source()));
      throw_unknown_key(root_, key, where(toml_key.source()));
    }
  }

 private:
  std::string where(const toml::source_region& region) const {
    return str(source_, ":", region.begin.line, ": ");
  }

  /// Returns false when `section` has no such name.
  bool read_node(const toml::node& node, const Section& section, const std::string& name,
                 const std::string& key) const {
    for (const Field& field : section.fields) {
      if (field.name != name) continue;
      const bool has_scalars = std::holds_alternative<ScalarTable*>(field.value) && node.is_table();
      const SettingValue value = has_scalars ? scalars_of(*node.as_table(), key) : value_of(node, key);
      assign({key, field}, value, where(node.source()));
      return true;
    }
    for (const Section& child : section.sections) {
      if (child.name != name) continue;
      if (!node.is_table())
        throw ConfigError(str(where(node.source()), key, " is a section: write [", key, "]"));
      read_table(*node.as_table(), child, key + ".");
      return true;
    }
    for (const SectionList& list : section.lists) {
      if (list.name != name) continue;
      read_list(node, list, key);
      return true;
    }
    return false;
  }

  void read_list(const toml::node& node, const SectionList& list, const std::string& key) const {
    if (!node.is_array_of_tables()) {
      throw ConfigError(str(where(node.source()), key, " is a list of sections: write [[", key, "]]"));
    }
    const toml::array& tables = *node.as_array();
    list.resize(0);
    list.resize(tables.size());
    const std::vector<Section> items = list.items();
    for (size_t i = 0; i < items.size(); ++i)
      read_table(*tables[i].as_table(), items[i], str(key, ".", i, "."));
  }

  SettingValue value_of(const toml::node& node, const std::string& key) const {
    if (const auto* value = node.as_boolean()) return value->get();
    if (const auto* value = node.as_integer()) return value->get();
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_string()) return value->get();
    if (node.is_table() && has_numbers(*node.as_table())) return numbers_of(*node.as_table(), key);
    if (node.is_table()) return table_of(*node.as_table(), key);
    const toml::array* array = node.as_array();
    if (array != nullptr && !array->empty() && array->is_homogeneous<int64_t>()) return integers_of(*array);
    const bool is_list_of_strings =
        array != nullptr && (array->empty() || array->is_homogeneous<std::string>());
    if (!is_list_of_strings) {
      throw ConfigError(str(where(node.source()), key,
                            " must be true or false, a number, a string, a list of strings or integers, or a "
                            "table of strings or "
                            "numbers"));
    }
    std::vector<std::string> strings;
    for (const toml::node& element : *array) strings.push_back(element.as_string()->get());
    return strings;
  }

  static std::vector<int64_t> integers_of(const toml::array& array) {
    std::vector<int64_t> integers;
    for (const toml::node& element : array) integers.push_back(element.as_integer()->get());
    return integers;
  }

  static bool has_numbers(const toml::table& table) {
    return !table.empty() && table.begin()->second.is_number();
  }

  std::map<std::string, double> numbers_of(const toml::table& table, const std::string& key) const {
    std::map<std::string, double> numbers;
    for (const auto& [name, node] : table) {
      const std::optional<double> number = node.value<double>();
      if (!node.is_number() || !number) {
        throw ConfigError(str(where(node.source()), key, ".", std::string(name.str()), " must be a number"));
      }
      numbers[std::string(name.str())] = *number;
    }
    return numbers;
  }

  ScalarTable scalars_of(const toml::table& table, const std::string& key) const {
    ScalarTable scalars;
    for (const auto& [name, node] : table) {
      ScalarTable::mapped_type& scalar = scalars[std::string(name.str())];
      if (const auto* value = node.as_boolean()) {
        scalar = value->get();
      } else if (const auto* value = node.as_integer()) {
        scalar = value->get();
      } else if (const auto* value = node.as_floating_point()) {
        scalar = value->get();
      } else if (const auto* value = node.as_string()) {
        scalar = value->get();
      } else {
        throw ConfigError(str(where(node.source()), key, ".", std::string(name.str()),
                              " must be true or false, a number or a string"));
      }
    }
    return scalars;
  }

  std::map<std::string, std::string> table_of(const toml::table& table, const std::string& key) const {
    std::map<std::string, std::string> strings;
    for (const auto& [name, node] : table) {
      if (!node.is_string()) {
        throw ConfigError(str(where(node.source()), key, ".", std::string(name.str()), " must be a string"));
      }
      strings[std::string(name.str())] = node.as_string()->get();
    }
    return strings;
  }

  const Section& root_;
  const std::string& source_;
};

void append_toml(const Section& section, const std::string& prefix, std::string& out) {
  for (const Field& field : section.fields) {
    const std::string value = value_text(field);
    if (!value.empty()) out += field.name + " = " + value + "\n";
  }
  for (const Section& child : section.sections) {
    out += "\n[" + prefix + child.name + "]\n";
    append_toml(child, prefix + child.name + ".", out);
  }
  for (const SectionList& list : section.lists) {
    for (const Section& item : list.items()) {
      out += "\n[[" + prefix + list.name + "]]\n";
      append_toml(item, prefix + list.name + ".", out);
    }
  }
}

}  // namespace

void apply_toml_text(const Section& settings, const std::string& text, const std::string& source) {
  toml::table table;
  try {
    table = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    throw ConfigError(str(source, ":", error.source().begin.line, ": malformed TOML: ", error.description()));
  }
  TomlReader(settings, source).read_table(table, settings, "");
}

void apply_toml_file(const Section& settings, const std::filesystem::path& path) {
  std::string text;
  try {
    text = read_whole_file(path);
  } catch (const FormatError& error) {
    throw ConfigError(error.what());
  }
  apply_toml_text(settings, text, path.string());
}

std::string to_toml(const Section& settings) {
  std::string out;
  append_toml(settings, "", out);
  return out;
}

}  // namespace cohort
