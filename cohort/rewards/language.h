// Which language a text is in: by its script, and within Latin and Cyrillic by trigrams of letters, compared
// with a few sentences in each language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A run of text that one decision is made for: a sentence.
struct LanguageSpan {
  std::string language;   ///< "en", "zh", ... or "?" where nothing tells
  int64_t num_words = 0;  ///< words of letters; each Chinese character or Japanese kana counts as one
};

/// The sentences of `text`, without code in ``` ```, formulas in $ $, \( \) and \[ \], and words of one
/// letter. A sentence with fewer than 12 letters takes the language of its script's neighbours.
std::vector<LanguageSpan> language_spans(std::string_view text);

/// The language of most words; "?" for a text without any.
std::string main_language(std::string_view text);

/// All codes that `language_spans` gives.
std::vector<std::string> known_languages();

}  // namespace cohort
