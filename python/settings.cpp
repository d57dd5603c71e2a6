#include "python/settings.h"

#include <algorithm>

#include "cohort/core/config_io.h"
#include "cohort/core/config_values.h"
#include "cohort/core/error.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

SettingValue setting_of(const std::string& key, const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::int_>(value)) return value.cast<int64_t>();
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (py::hasattr(value, "item")) return setting_of(key, value.attr("item")());  // a number of torch or numpy
  throw py::type_error(str(key, " is a ", std::string(py::str(py::type::of(value).attr("__name__"))),
                           ", but must be a bool, a number or a string"));
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
  const Section all = settings_of(settings);
  for (const auto& [name, value] : keywords) set_key(all, name.cast<std::string>(), value);
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
