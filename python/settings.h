// Keyword arguments of Python as settings of the objective: a preset first, then what the caller names.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/objectives/preference.h"
#include "cohort/objectives/presets.h"

namespace cohort::python {

/// One flat set of keys, as in a recipe's `[objective]`, whoever reads them.
struct Settings : ObjectiveSettings {
  std::vector<double> reward_weights;  ///< empty: all 1
};

/// A string of Python. Throws UserError, which names `key`, for one with surrogates and type_error for no
/// string.
std::string text_of(const std::string& key, const pybind11::handle& value);

/// Sets the keys of a section. Throws UserError for an unknown key or a value out of range, and pybind11's
/// type_error for a value of a type that no setting has. None unsets a key that may be unset.
void set_keys(const Section& section, const pybind11::dict& keywords);

/// Throws UserError for an unknown preset, key or value and pybind11's type_error for a value of a type that
/// no setting has. None unsets a key that may be unset.
Settings read_settings(const std::string& preset, const pybind11::dict& keywords);

/// The same for the loss on preference pairs.
PreferenceConfig read_preference_settings(const pybind11::dict& keywords);

/// All keys with their meanings, of both configs, in the order of the documentation.
std::string describe_settings();

}  // namespace cohort::python
