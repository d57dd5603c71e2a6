#include "python/settings.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

double number_of(const std::string& key, const py::handle& value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number != -1.0 || PyErr_Occurred() == nullptr) return number;
  const bool is_large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
  PyErr_Clear();
  if (is_large) throw UserError(key + " is a number that is too large");
  refuse_type(key, value, "a number");
}

SettingValue list_of(const std::string& key, const py::sequence& values) {
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  for (const py::handle value : values) {
    if (py::isinstance<py::int_>(value) && !py::isinstance<py::bool_>(value)) {
      integers.push_back(integer_of(key, value));
    } else if (py::isinstance<py::str>(value)) {
      texts.push_back(text_of(key, value));
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
    numbers[py::str(name)] = number_of(key, value);
  }
  return numbers;
}

/// The engine computes in float32.
double float_of(const std::string& key, double number) {
  if (std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max())
    throw UserError(str(key, " is ", number, ", which no float32 holds"));
  return number;
}

/// The number that a number of torch or numpy is; null for anything else.
py::object item_of(const py::handle& value) {
  if (!py::hasattr(value, "item")) return {};
  try {
    return value.attr("item")();
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    return {};
  }
}

SettingValue setting_of(const std::string& key, const py::handle& value, bool is_first = true) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::int_>(value)) return integer_of(key, value);
  if (py::isinstance<py::float_>(value)) return float_of(key, value.cast<double>());
  if (py::isinstance<py::str>(value)) return text_of(key, value);
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value))
    return list_of(key, py::reinterpret_borrow<py::sequence>(value));
  if (py::isinstance<py::dict>(value)) return table_of(key, py::reinterpret_borrow<py::dict>(value));
  if (is_first) {
    const py::object item = item_of(value);
    if (item) return setting_of(key, item, /*is_first=*/false);
  }
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
  for (const py::handle weight : py::iter(value)) weights.push_back(number_of("reward_weights", weight));
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

std::string text_of(const std::string& key, const py::handle& value) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text != nullptr) return {text, static_cast<size_t>(size)};
  const bool is_text = PyUnicode_Check(value.ptr());
  PyErr_Clear();
  if (!is_text) refuse_type(key, value, "a string");
  throw UserError(key + " holds text that is not valid Unicode");
}

void set_keys(const Section& section, const py::dict& keywords) {
  for (const auto& [name, value] : keywords) {
    if (!py::isinstance<py::str>(name)) refuse_type("a key", name, "a string");
    set_key(section, text_of("a key", name), value);
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
    const std::string key = text_of("a key", name);
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
