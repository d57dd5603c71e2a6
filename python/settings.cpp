#include "python/settings.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cohort/core/config_io.h"
#include "cohort/core/config_values.h"
#include "cohort/core/error.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

[[noreturn]] void refuse_type(const std::string& key, const py::handle& value, const char* wanted) {
  throw py::type_error(str(key, " is a ", std::string(py::str(py::type::of(value).attr("__name__"))),
                           ", but must be ", wanted));
}

int64_t integer_of(const std::string& key, const py::handle& value) {
  const int64_t number = PyLong_AsLongLong(value.ptr());
  if (number != -1 || PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  throw UserError(str(key, " is ", std::string(py::str(value)), ", which has more than 64 bits"));
}

SettingValue list_of(const std::string& key, const py::sequence& values) {
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  for (const py::handle value : values) {
    if (py::isinstance<py::int_>(value) && !py::isinstance<py::bool_>(value)) {
      integers.push_back(integer_of(key, value));
    } else if (py::isinstance<py::str>(value)) {
      texts.push_back(value.cast<std::string>());
    } else {
      refuse_type(key + "'s item", value, "an integer or a string");
    }
  }
  if (!integers.empty() && !texts.empty())
    throw py::type_error(key + " holds integers and strings; give one kind");
  if (!integers.empty()) return integers;
  return texts;
}

SettingValue table_of(const std::string& key, const py::dict& table) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : table) {
    if (!py::isinstance<py::int_>(value) && !py::isinstance<py::float_>(value))
      refuse_type(str(key, "[", std::string(py::str(name)), "]"), value, "a number");
    numbers[py::str(name)] = value.cast<double>();
  }
  return numbers;
}

SettingValue setting_of(const std::string& key, const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::int_>(value)) return integer_of(key, value);
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value))
    return list_of(key, py::reinterpret_borrow<py::sequence>(value));
  if (py::isinstance<py::dict>(value)) return table_of(key, py::reinterpret_borrow<py::dict>(value));
  if (py::hasattr(value, "item")) return setting_of(key, value.attr("item")());  // a number of torch or numpy
  refuse_type(key, value, "a bool, a number, a string, a list or a dict");
}

void unset(const KeyedField& target) {
  const auto reset = [&](auto* value) {
    if constexpr (requires { value->reset(); }) {
      value->reset();
    } else {
      throw py::type_error(str(target.key, " cannot be None"));
    }
  };
  std::visit(reset, target.field.value);
}

std::vector<double> weights_of(const py::handle& value) {
  std::vector<double> weights;
  if (value.is_none()) return weights;
  for (const py::handle weight : py::iter(value)) weights.push_back(py::cast<double>(weight));
  return weights;
}

/// The fields of both configs; beta and kl_place are in both.
Section all_settings(Settings& settings) {
  Section all = settings_of(settings.loss);
  const Section rest = settings_of(settings.advantages);
  all.fields.insert(all.fields.end(), rest.fields.begin(), rest.fields.end());
  return all;
}

void set_key(const Section& all, const std::string& key, const py::handle& value) {
  bool is_known = false;
  for (const Field& field : all.fields) {
    if (field.name != key) continue;
    is_known = true;
    if (value.is_none()) {
      unset({key, field});
    } else {
      assign({key, field}, setting_of(key, value), "");
    }
  }
  if (!is_known) throw_unknown_key(all, key, "");
}

}  // namespace

void set_keys(const Section& section, const py::dict& keywords) {
  for (const auto& [name, value] : keywords) {
    if (!py::isinstance<py::str>(name)) refuse_type("a key", name, "a string");
    set_key(section, name.cast<std::string>(), value);
  }
}

Settings read_settings(const std::string& preset, const py::dict& keywords) {
  Settings settings{settings_of_preset(preset), {}};
  const Section all = all_settings(settings);
  // It stands for several keys, which the caller's own override.
  if (keywords.contains("loss_type")) {
    const py::object loss_type = keywords["loss_type"];
    set_key(all, "loss_type", loss_type);
    expand_loss_type(settings.loss);
  }
  for (const auto& [name, value] : keywords) {
    const std::string key = name.cast<std::string>();
    if (key == "reward_weights") {
      settings.reward_weights = weights_of(value);
    } else if (key != "loss_type") {
      set_key(all, key, value);
    }
  }
  return settings;
}

PreferenceConfig read_preference_settings(const py::dict& keywords) {
  PreferenceConfig settings;
  set_keys(settings_of(settings), keywords);
  check_preference_config(settings);
  return settings;
}

std::string describe_settings() {
  Settings settings;
  std::string text;
  std::vector<std::string> seen;
  for (const Field& field : all_settings(settings).fields) {
    if (std::find(seen.begin(), seen.end(), field.name) != seen.end()) continue;
    seen.push_back(field.name);
    const std::string value = value_text(field);
    text += str(field.name, " = ", value.empty() ? "None" : value, ": ", field.meaning, "\n");
  }
  return text;
}

}  // namespace cohort::python
