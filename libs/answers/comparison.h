// Do two answers say the same, as mathematics, in words, as choices or as numbers? With extraction.h the only
// door to this library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libs/answers/internal/units.h"

namespace cohort::answers {

enum class Outcome : uint8_t { kEqual, kUnequal, kUndecided };

struct Verdict {
  Outcome outcome = Outcome::kUndecided;
  std::string reason;

  bool is_equal() const { return outcome == Outcome::kEqual; }
  bool is_unequal() const { return outcome == Outcome::kUnequal; }
};

/// Why a text is no mathematics that we read.
struct ParseFailure {
  enum class Kind { kMalformed, kUnsupported, kTooLarge } kind = Kind::kMalformed;
  std::string reason;
};

struct Judgement {
  Verdict verdict;
  std::optional<ParseFailure> gold_failure;    ///< why the gold answer was not read
  std::optional<ParseFailure> answer_failure;  ///< why the other was not read
};

/// Compares two answers in LaTeX, plain mathematics or words. The verdict is symmetric, depends on the two
/// texts alone, and takes bounded time; any thread may call.
Judgement judge(std::string_view gold, std::string_view answer);

/// What an answer was read as, for explanations: its tree in prefix form, its words, or why it was not read.
std::string describe_answer(std::string_view answer);

/// As `judge`; and for choices: "(B) 12" equals B, 12 and "B. 12", but neither "(C) 12" nor "(B) 13".
Judgement judge_choice(std::string_view gold, std::string_view answer);

/// As `describe_answer`; a choice with its text as "choice B, 12".
std::string describe_choice(std::string_view answer);

/// `text` with its numerals in plain digits, outside brackets: 1,25,000 as 125000.
std::string with_plain_numerals(std::string_view text);

struct Quantity {
  double value = 0.0;                 ///< as written, a percentage not divided
  double base_value = 0.0;            ///< in base units: meters, kilograms, seconds, radians
  std::optional<Fraction> integer{};  ///< the exact `value`, where it is an integer
  bool is_percent = false;
  Dimension dimension{};  ///< empty without a unit of the table; what is counted (12 apples) is none
};

/// The real number that `text` is: 1,234.5  -3/4  2\sqrt{3}  6.02e23  12.5 %  $5  x = 3 km. Nothing where it
/// is no number, or several.
std::optional<Quantity> read_quantity(std::string_view text);

struct Tolerance {
  double absolute = 0.0, relative = 0.0;
  double integer_relative = 0.0;  ///< instead of `relative` between two integers, which are compared exactly
};

/// |a - b| <= max(absolute, relative * |b|), in base units where both have a unit. Where one alone has a
/// percent sign, both 25 and 0.25 are 25 %. Quantities of different dimensions differ.
bool is_close(const Quantity& a, const Quantity& b, const Tolerance& tolerance);

/// Does `answer` round to `gold`, which must be a decimal: 100/3 to 33.3? Units and percent signs as in
/// is_close.
bool rounds_to(std::string_view answer, std::string_view gold);

/// For an explanation: "12.5 %", "3000 m".
std::string describe(const std::optional<Quantity>& quantity);

}  // namespace cohort::answers
