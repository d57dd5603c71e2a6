#include "cohort/rewards/judge/prompt_template.h"

#include "cohort/core/error.h"
#include "cohort/core/input_file.h"

namespace cohort {

PromptTemplate::PromptTemplate(std::string_view text, const std::string& where) {
  texts_.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      texts_.back() += c;
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      texts_.back() += c;
      ++i;
    } else {
      const size_t close = c == '{' ? text.find_first_of("{}\n", i + 1) : std::string_view::npos;
      if (close == std::string_view::npos || text[close] != '}' || close == i + 1) {
        throw ConfigError(
            str(where, "the brace at byte ", i, " belongs to no {name}; write {{ or }} for a brace"));
      }
      names_.emplace_back(text.substr(i + 1, close - i - 1));
      texts_.emplace_back();
      i = close;
    }
  }
}

std::string PromptTemplate::fill(const std::function<std::string(const std::string& name)>& value_of) const {
  std::string result = texts_[0];
  for (size_t i = 0; i < names_.size(); ++i) result += value_of(names_[i]) + texts_[i + 1];
  return result;
}

std::string read_rubric(const std::string& rubric, const std::string& where) {
  if (!rubric.starts_with('@')) return rubric;
  try {
    return read_whole_file(rubric.substr(1));
  } catch (const FormatError& error) {
    throw ConfigError(str(where, "`rubric`: ", error.what()));
  }
}

}  // namespace cohort
