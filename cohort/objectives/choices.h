// The choices of a setting, each a line of a .def with a name and a text: what the configuration accepts, its
// documentation says and errors list.
#pragma once

#include <algorithm>
#include <string>

#include "cohort/core/config.h"
#include "cohort/core/error.h"

namespace cohort {

/// The keys of a choice that has none.
struct NoKeys {
  void describe(FieldVisitor&) {}
};

/// The names of `choices`, in their order.
template <typename Choices>
Limits one_of_names(const Choices& choices) {
  Limits limits;
  for (const auto& choice : choices) limits.choices.emplace_back(choice.name);
  return limits;
}

/// "INTRODUCTION NAME: text; NAME: text."
template <typename Choices>
std::string list_choices(const std::string& introduction, const Choices& choices) {
  std::string meaning = introduction;
  const char* separator = " ";
  for (const auto& choice : choices) {
    meaning += str(separator, choice.name, ": ", choice.text);
    separator = "; ";
  }
  return meaning + ".";
}

/// The line of that name. Throws InternalError, naming `key`, where there is none: configurations check
/// names.
template <typename Choices>
const auto& find_choice(const Choices& choices, const std::string& name, const char* key) {
  const auto found = std::ranges::find_if(choices, [&](const auto& choice) { return choice.name == name; });
  COHORT_CHECK(found != std::end(choices), key, " is ", name);
  return *found;
}

}  // namespace cohort
