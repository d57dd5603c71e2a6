// The letter that a completion names as its answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::choice {

class Choices {
 public:
  /// `letters` are in upper case. `texts` are those of the choices in the order of the letters, or none.
  Choices(std::string letters, const std::vector<std::string>& texts);

  const std::string& letters() const { return letters_; }
  bool has_texts() const { return !words_.empty(); }

  /// The letter of the one choice whose text has these words, which words_of returned.
  std::optional<char> by_words(const std::string& words) const;

 private:
  std::string letters_;
  std::vector<std::string> words_;
};

/// The letter that `text` names: alone, before the choice's own text, or in a sentence of one of many
/// languages. The last announcement counts. Nothing for none, for several, and for letters that are denied or
/// in doubt.
std::optional<char> find_stated_choice(std::string_view text, const Choices& choices);

/// Does `text` hold a letter of choice that stands alone?
bool has_choice_letter(std::string_view text, const Choices& choices);

}  // namespace cohort::choice
