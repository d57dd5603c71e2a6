#include "libs/answers/internal/retraction.h"

#include <algorithm>
#include <string>

#include "libs/answers/internal/word_roles.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

constexpr size_t kNone = std::string_view::npos;

constexpr std::string_view kPauses[] = {"wait,",       "wait.",   "wait!", "wait -",
                                        "wait \u2014", "no wait", "oops"};

constexpr std::string_view kRetractions[] = {"scratch that",       "that is wrong",
                                             "that's wrong",       "this is wrong",
                                             "that is incorrect",  "that's incorrect",
                                             "this is incorrect",  "that is not right",
                                             "that's not right",   "that is not correct",
                                             "that's not correct", "i was wrong",
                                             "i made a mistake",   "i made an error",
                                             "i've made",          "i have made a mistake",
                                             "we made a mistake",  "made an error in my",
                                             "let me correct",     "take that back",
                                             "take it back",       "i meant",
                                             "correction:",        "correction,",
                                             "correction \u2014",  "correction -",
                                             "my mistake",         "my bad",
                                             "i misspoke",         "oh no"};

template <size_t kSize>
size_t find_first(const std::string& text, const std::string_view (&phrases)[kSize]) {
  size_t first = kNone;
  for (const std::string_view phrase : phrases) first = std::min(first, text.find(phrase));
  return first;
}

bool is_math(const Sentence& sentence, size_t position) {
  return position < sentence.pieces.size() && sentence.pieces[position].is_math();
}

// Behind commas and dashes.
size_t skip_marks(const Sentence& sentence, size_t position) {
  while (position < sentence.pieces.size() && sentence.pieces[position].kind == Piece::Kind::kMark)
    ++position;
  return position;
}

// it is 13, it should be 13, the answer is 13, 13
bool states_value(const Sentence& sentence, size_t position) {
  constexpr size_t kMaxWords = 6;
  for (size_t end = position + kMaxWords; position < end; ++position) {
    if (is_math(sentence, position)) return true;
    const std::string word = word_at(sentence.pieces, position);
    const WordRole role = word_role(word);
    if (word.empty() || (role != WordRole::kFiller && role != WordRole::kCopula &&
                         !is_one_of(word, {"should", "must", "would", "i", "get", "result"})))
      return false;
  }
  return false;
}

// Hmm, actually it is 13. No, 13. Sorry, 13.
bool corrects(const Sentence& sentence) {
  size_t position = skip_marks(sentence, 0);
  bool is_correction = false;
  while (is_one_of(word_at(sentence.pieces, position),
                   {"hmm", "hm", "actually", "no", "sorry", "oh", "rather"})) {
    const bool is_no_number = word_at(sentence.pieces, position) == "no" && is_math(sentence, position + 1);
    if (is_no_number) return false;
    is_correction = true;
    position = skip_marks(sentence, position + 1);
  }
  return is_correction && states_value(sentence, position);
}

}  // namespace

size_t find_retraction(std::string_view behind, bool counts_pauses) {
  const std::string lower = lower_case(behind);
  size_t first = find_first(lower, kRetractions);
  if (counts_pauses) first = std::min(first, find_first(lower, kPauses));
  for (const Sentence& sentence : read_sentences(behind)) {
    const size_t begin = static_cast<size_t>(sentence.text.data() - behind.data());
    if (begin >= first) break;
    if (corrects(sentence)) return begin;
  }
  return first;
}

bool offers_another(const Sentence& sentence) {
  const std::string first = word_at(sentence.pieces, 0);
  if (first == "or") return true;
  if (is_one_of(first, {"alternatively", "maybe", "perhaps", "possibly"}))
    return states_value(sentence, skip_marks(sentence, 1));
  size_t position = 0;
  while (is_one_of(word_at(sentence.pieces, position), {"it", "this", "that", "the", "answer"})) ++position;
  if (!is_one_of(word_at(sentence.pieces, position), {"could", "might", "may"})) return false;
  ++position;
  while (is_one_of(word_at(sentence.pieces, position), {"also", "well", "equally", "just", "as"})) ++position;
  return word_at(sentence.pieces, position) == "be" && is_math(sentence, position + 1);
}

}  // namespace cohort::answers
