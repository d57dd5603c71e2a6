// Runs of plain letters that measure something: units, the halves of a day, ordinals, currencies.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/answers/internal/lexer.h"

namespace cohort::answers {

/// Where a run of letters stands.
struct Surroundings {
  const std::vector<Token>& before;
  std::string_view behind;
  bool has_space = false;  ///< white space before the run
  bool is_text = false;    ///< inside \text{}
};

/// Is a unit, spelled as plain letters, possible there: behind a number or another unit?
bool may_be_unit(const Surroundings& place);

struct MeasuringWord {
  TokenKind kind = TokenKind::kText;
  std::string text;      ///< empty for what says nothing: the "th" of 5th
  size_t num_bytes = 0;  ///< how much of what stands behind the run belongs to it
};

/// What the run is as a word that measures; nothing for other runs.
std::optional<MeasuringWord> find_measuring_word(std::string_view run, const Surroundings& place);

/// The sign of a currency that a word before an amount stands for: Rs, USD.
std::optional<MeasuringWord> find_currency(std::string_view run, const Surroundings& place);

/// Are one, two or three letters in a text font variables, and neither a unit nor a word?
bool are_variables(std::string_view run, const Surroundings& place);

/// The unit that what follows \mu makes with it behind a number: \mu\text{m}, or \mu m where `takes_letter`.
std::optional<MeasuringWord> find_micro_unit(const Surroundings& place, bool takes_letter);

/// Does it end in white space as LaTeX writes it, such as a backslash and a comma?
bool ends_in_latex_space(std::string_view text);

/// Does the letter of a number set follow \mathbf, as in x \in \mathbf{R}? Elsewhere a bold letter is a
/// vector or a matrix.
bool is_bold_set(const Surroundings& place);

/// The words of \text{} without the dots of abbreviations: "sq. cm" is "sq cm". "I and II" are three texts.
std::vector<std::string> split_text(std::string_view content);

}  // namespace cohort::answers
