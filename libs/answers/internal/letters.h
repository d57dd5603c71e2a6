// Plain letters that may stand for something else than a variable: f in f(x), m in 10 m. Whether they do
// depends on both texts of a comparison: a letter that either uses as a variable is one in both.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libs/answers/internal/lexer.h"

namespace cohort::answers {

using Names = std::set<std::string>;

/// Does f, g or h stand there before a bracket, perhaps with primes or -1 between?
bool may_be_function(const std::vector<Token>& tokens, size_t place);

/// Does the letter of a unit stand there behind a number and a space, at the end of a value?
bool may_be_unit_letter(const std::vector<Token>& tokens, size_t place);

/// Does the letter of a unit in a text font stand there where the value goes on, as in 2\mathrm{m}+3?
bool may_be_variable(const std::vector<Token>& tokens, size_t place);

/// The letters that are variables beyond doubt.
Names find_variables(const std::vector<Token>& tokens);

/// Is it a function of which nothing is known, which the verifier gives a random value at each argument?
bool is_unknown_function(std::string_view name);

/// The value of a Roman numeral of two letters and more out of I, V, X and L? Segments such as CD are none.
bool is_roman(std::string_view run);

/// Three capitals and more, or a Roman numeral: a name and no product.
bool is_capital_name(std::string_view run);

}  // namespace cohort::answers
