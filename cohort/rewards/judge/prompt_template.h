// Text with {names} that stand for a row's values.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// `{name}` stands for a value; `{{` and `}}` are braces. What the values hold is never read as a template.
class PromptTemplate {
 public:
  /// Throws ConfigError, beginning with `where`, for a brace that belongs to no name.
  PromptTemplate(std::string_view text, const std::string& where);

  /// In the order of the text, as often as they stand there.
  const std::vector<std::string>& names() const { return names_; }

  std::string fill(const std::function<std::string(const std::string& name)>& value_of) const;

 private:
  std::vector<std::string> texts_;  // one more than names: what stands before, between and after them
  std::vector<std::string> names_;
};

/// The text of a template in a recipe, or the content of the file that "@FILE" names. Throws ConfigError,
/// beginning with `where`, for a file that can't be read.
std::string read_rubric(const std::string& rubric, const std::string& where);

}  // namespace cohort
