// What the words around an answer do to it.
#pragma once

#include <cstdint>
#include <string_view>

namespace cohort::answers {

enum class WordRole : uint8_t {
  kOther,
  kFiller,     ///< may stand before an answer and changes nothing: therefore, exactly, the
  kCopula,     ///< the answer stands behind it: is, equals
  kJoiner,     ///< and, or
  kTurn,       ///< but
  kNegation,   ///< not, isn't
  kHedge,      ///< makes something else of the value: between, twice, less
  kCombines,   ///< makes one value of several: sum, product
  kCondition,  ///< relations may follow: for n = 2, where x > 0
  kRestates,   ///< another spelling follows: i.e., namely
  kDoubt,      ///< another answer may follow: if, otherwise, maybe
};

/// In any case of letters.
WordRole word_role(std::string_view word);

/// Of a kJoiner: "and" in any language, and no "or".
bool joins_all(std::string_view word);

/// A word of a language that writes 1.234,5 for 1234.5?
bool has_decimal_comma(std::string_view word);

/// The length of the longest word with a role at the start of a text without spaces: 不是, または; 0 for
/// none.
size_t cjk_word_length(std::string_view text);

/// Does what follows this word explain an answer before it, or round it: because, which, so, about?
bool starts_remark(std::string_view word);

/// "It is not hard to see": a "not" before this word denies nothing.
bool is_harmless_behind_not(std::string_view word);

/// After "not": think, believe, sure.
bool is_believing(std::string_view word);

/// Of an answer: wrong, incorrect.
bool denies_answer(std::string_view word);

/// Does it end in a full stop within a sentence, as sq. and approx.?
bool is_abbreviation(std::string_view word);

}  // namespace cohort::answers
