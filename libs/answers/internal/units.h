// Units, currencies and number words behind a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "libs/answers/internal/fraction.h"

namespace cohort::answers {

/// A product of powers of base names; base units are m, s, kg, currencies and words that no table knows.
using Dimension = std::map<std::string, int>;

struct Unit {
  Fraction factor = 1;  ///< to the base units
  Dimension dimension;
};

/// Is `name` in the table, in singular or plural, perhaps with "square" or "cubic" before or "per" behind it?
bool is_unit_name(std::string_view name);

/// Does the word stand for arithmetic, as "squared" and "hundredths" do, so that it is no unit?
bool is_arithmetic_word(std::string_view word);

/// What a part's name divides by, such as 7 for "sevenths"; nothing for other words.
std::optional<std::string_view> find_part_word(std::string_view word);

/// What a unit's name means: `cm`, `square feet`, `miles per hour`, `apples`.
Unit find_unit(std::string_view name);

/// The number that a word stands for, such as 1000000 for "million"; nothing for other words.
std::optional<std::string_view> find_number_word(std::string_view word);

}  // namespace cohort::answers
