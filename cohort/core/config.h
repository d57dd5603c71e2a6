// Settings that are declared once: a plain struct with defaults and one `describe(FieldVisitor&)` that names
// each field with its meaning and limits. `settings_of` turns it into a tree that points into the struct;
// TOML files, flags, the resolved dump, --help and docs/configuration.md are functions of that tree
// (config_io.h).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cohort {

/// Accepted values of a field: an interval for numbers, names for strings.
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_open = false;
  bool high_is_open = false;
  std::vector<std::string> choices;

  bool contains(double number) const;
  bool contains(const std::string& text) const;

  /// Such as "at least 0", "above 0, at most 1" or "grpo, dapo or dr_grpo"; empty when there is no limit.
  std::string describe() const;
};

Limits at_least(double low);
Limits above(double low);
/// low <= x <= high.
Limits between(double low, double high);
/// low < x <= high.
Limits above_up_to(double low, double high);
/// low <= x < high.
Limits at_least_below(double low, double high);
Limits one_of(std::vector<std::string> choices);

/// Whether a resumed run takes a new value of a setting.
enum class OnResume {
  kRefused,    ///< the setting changes results
  kTaken,      ///< the setting changes no result, or only those of later steps
  kSameFiles,  ///< a path, which may change if it leads to the same files
};

/// A table whose values may differ in type.
using ScalarTable = std::map<std::string, std::variant<bool, int64_t, double, std::string>>;

/// An optional is unset by default and then left out of the dump.
using FieldRef =
    std::variant<bool*, int64_t*, double*, std::string*, std::optional<int64_t>*, std::optional<double>*,
                 std::vector<std::string>*, std::vector<int64_t>*, std::map<std::string, std::string>*,
                 std::map<std::string, int64_t>*, std::map<std::string, double>*, ScalarTable*>;

struct Field {
  std::string name;
  FieldRef value;
  std::string meaning;
  Limits limits;
  OnResume on_resume = OnResume::kRefused;
};

struct Section;

/// A list of sections, `[[name]]` in TOML. `items` point into the list: take them again after a `resize`.
struct SectionList {
  std::string name;
  std::string meaning;
  std::function<void(size_t)> resize;
  std::function<std::vector<Section>()> items;
  std::function<Section()> prototype;  ///< one item with its defaults, for documentation
};

/// A node of the tree. It points into the described struct, which must outlive it and stay where it is.
struct Section {
  std::string name;
  std::string meaning;
  std::vector<Field> fields;
  std::vector<Section> sections;
  std::vector<SectionList> lists;
};

template <typename Config>
Section settings_of(Config& config, const char* name = "", const char* meaning = "");

/// The argument of a struct's `describe`: one call per field, in the order of the documentation.
class FieldVisitor {
 public:
  explicit FieldVisitor(Section& section) : section_(section) {}

  template <typename Value>
    requires std::is_constructible_v<FieldRef, Value*>
  void operator()(const char* name, Value& value, const char* meaning, Limits limits = {},
                  OnResume on_resume = OnResume::kRefused) {
    section_.fields.push_back({name, &value, meaning, std::move(limits), on_resume});
  }

  /// The same without limits.
  template <typename Value>
    requires std::is_constructible_v<FieldRef, Value*>
  void operator()(const char* name, Value& value, const char* meaning, OnResume on_resume) {
    (*this)(name, value, meaning, Limits{}, on_resume);
  }

  /// A nested section: a struct with a `describe`.
  template <typename Config>
    requires(!std::is_constructible_v<FieldRef, Config*>)
  void operator()(const char* name, Config& config, const char* meaning) {
    section_.sections.push_back(settings_of(config, name, meaning));
  }

  /// A list of sections.
  template <typename Config>
    requires(!std::is_constructible_v<FieldRef, std::vector<Config>*>)
  void operator()(const char* name, std::vector<Config>& configs, const char* meaning) {
    SectionList list{name, meaning, {}, {}, {}};
    list.resize = [&configs](size_t size) { configs.resize(size); };
    list.items = [&configs, name, meaning] {
      std::vector<Section> items;
      items.reserve(configs.size());
      for (Config& config : configs) items.push_back(settings_of(config, name, meaning));
      return items;
    };
    list.prototype = [name, meaning, item = std::make_shared<Config>()] {
      return settings_of(*item, name, meaning);
    };
    section_.lists.push_back(std::move(list));
  }

 private:
  Section& section_;
};

/// The tree of a struct that describes itself by a member `describe(FieldVisitor&)` or, in folders that don't
/// include this header, by a free `describe(FieldVisitor&, Config&)` beside the struct that holds it.
template <typename Config>
Section settings_of(Config& config, const char* name, const char* meaning) {
  Section section{name, meaning, {}, {}, {}};
  FieldVisitor visitor(section);
  if constexpr (requires { config.describe(visitor); }) {
    config.describe(visitor);
  } else {
    describe(visitor, config);
  }
  return section;
}

}  // namespace cohort
