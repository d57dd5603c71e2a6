// Formulas between delimiters, and dollars that are money.
#pragma once

#include <optional>
#include <string_view>

namespace cohort::answers {

struct Formula {
  std::string_view inside;
  size_t length = 0;  ///< with the delimiters
};

/// Finds formulas between $ $, $$ $$, \( \) and \[ \] in one text, which must outlive it. Asking at every
/// position in turn takes linear time.
class FormulaFinder {
 public:
  explicit FormulaFinder(std::string_view text)
      : text_(text),
        last_round_(text.rfind("\\)")),
        last_square_(text.rfind("\\]")),
        last_double_(text.rfind("$$")) {}

  /// The formula that begins at `position`; nothing where a dollar means money: $10 - $3.
  std::optional<Formula> at(size_t position) const;

 private:
  std::optional<Formula> between(size_t position, std::string_view close, size_t last_close) const;
  std::optional<Formula> dollars(size_t position) const;

  std::string_view text_;
  size_t last_round_, last_square_, last_double_;
};

}  // namespace cohort::answers
