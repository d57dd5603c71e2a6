#include "libs/answers/internal/doubts.h"

#include "libs/answers/internal/word_roles.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

using Pieces = std::vector<Piece>;

bool is_end(const Pieces& pieces, size_t position) {
  return position >= pieces.size() || pieces[position].kind == Piece::Kind::kMark;
}

// and up, and more, and a half, and three quarters, and so is 13
bool changes_behind_and(const Pieces& pieces, size_t position) {
  const std::string first = word_at(pieces, position), second = word_at(pieces, position + 1);
  const bool is_count = is_one_of(first, {"a", "an", "one", "two", "three", "four", "five"});
  const bool is_part = word_role(second) == WordRole::kHedge || second == "quarters" || second == "thirds" ||
                       second == "bit" || second == "half";
  return (is_count && is_part) || (first == "so" && word_role(second) == WordRole::kCopula) ||
         (!first.empty() && word_role(first) == WordRole::kHedge) ||
         is_one_of(first, {"up", "upwards", "upward", "onwards", "beyond", "higher", "lower", "larger",
                           "bigger", "smaller", "down", "counting", "change", "something"});
}

// isn't, wasn't, cannot
bool is_denying_verb(const std::string& word) {
  return word == "cannot" || word.ends_with("n't") || word.ends_with("n\u2019t");
}

size_t skip_adverbs(const Pieces& pieces, size_t position) {
  while (word_at(pieces, position).ends_with("ly") ||
         is_one_of(word_at(pieces, position), {"be", "also", "just"}))
    ++position;
  return position;
}

// Is it "not" with something that every right answer is: "which is not correct", but not "which is not
// prime"?
bool is_right_at(const Pieces& pieces, size_t position) {
  while (is_one_of(word_at(pieces, position), {"the", "a", "my"})) ++position;
  return is_one_of(
      word_at(pieces, skip_adverbs(pieces, position)),
      {"correct", "right", "true", "valid", "answer", "accurate", "acceptable", "it", "possible"});
}

}  // namespace

std::string find_change(const Pieces& pieces, size_t begin) {
  const std::string first = word_at(pieces, begin), second = word_at(pieces, begin + 1);
  const bool is_bound =
      (first == "at" && is_one_of(second, {"least", "most", "minimum", "maximum", "best"})) ||
      (first == "or" && is_one_of(second, {"more", "less", "fewer", "above", "below", "over", "under", "so",
                                           "higher", "lower", "greater"})) ||
      (first == "and" && changes_behind_and(pieces, begin + 1)) ||
      (first == "as" && second == "well" && word_at(pieces, begin + 2) == "as");
  if (is_bound) return str("\"", first, " ", second, "\" stands behind it");
  const bool is_limit = is_one_of(first, {"minimum", "maximum", "min", "max"}) && is_end(pieces, begin + 1);
  if (is_limit || is_one_of(first, {"plus", "minus", "multiplied", "divided", "squared", "cubed"}))
    return str("\"", first, "\" stands behind it");
  return {};
}

std::string find_denial(const Pieces& pieces, size_t begin) {
  const auto denied = [&](size_t word) { return str("\"", word_at(pieces, word), "\" is said of it"); };
  const bool is_aside = begin < pieces.size() && (pieces[begin].is_mark(',') || pieces[begin].is_mark('('));
  if (is_aside && denies_answer(word_at(pieces, begin + 1))) return denied(begin + 1);
  size_t verb = begin + is_aside;
  const bool is_clause = is_one_of(word_at(pieces, verb), {"which", "that", "this", "it"});
  verb += is_clause;
  const std::string word = word_at(pieces, verb);
  const size_t said = skip_adverbs(pieces, verb + 1);
  if (is_denying_verb(word)) {
    const bool is_certain = !is_clause && !word.starts_with("c");  // "12 cannot be exceeded" denies nothing
    return is_certain || is_right_at(pieces, said) ? denied(verb) : std::string();
  }
  if (word_role(word) != WordRole::kCopula || word.empty()) return {};
  if (denies_answer(word_at(pieces, said))) return denied(said);
  const bool is_not =
      !word_at(pieces, said).empty() && word_role(word_at(pieces, said)) == WordRole::kNegation;
  return is_not && (!is_clause || is_right_at(pieces, said + 1)) ? denied(said) : std::string();
}

std::string find_fault_of(std::string_view text) {
  const std::vector<Sentence> sentences = read_sentences(text, 1);
  if (sentences.empty() || !sentences[0].pieces[0].is_math()) return {};
  std::string change = find_change(sentences[0].pieces, 1);
  return change.empty() ? find_denial(sentences[0].pieces, 1) : change;
}

std::string find_denial_before(const Pieces& pieces) {
  const size_t size = pieces.size();
  const std::string last = word_at(pieces, size - 1), second = size > 1 ? word_at(pieces, size - 2) : "";
  const bool is_other = (last == "than" && is_one_of(second, {"rather", "other"})) ||
                        (last == "of" && second == "instead") || last == "unlike" || last == "except";
  if (is_other || is_exclusion(pieces, size - 1)) return str("\"", last, "\" stands before it");
  bool is_near = true;
  for (size_t i = size; i-- > 0;) {
    const std::string word = word_at(pieces, i);
    const WordRole role = word.empty() ? WordRole::kOther : word_role(word);
    if (word == "and" || role == WordRole::kTurn || (word.empty() && !pieces[i].is_math())) break;
    if (role == WordRole::kNegation && is_believing(word_at(pieces, i + 1))) return "it is denied";
    if (is_near && (word == "not" || is_denying_verb(word))) return str("\"", word, "\" stands before it");
    is_near = is_near && (role == WordRole::kFiller || word.ends_with("ly") || word == "be");
  }
  return {};
}

bool leaves_open(const Pieces& pieces, size_t position) {
  const std::string word = word_at(pieces, position);
  if (is_one_of(word, {"might", "could", "may"})) return word_at(pieces, position + 1) == "be";
  const bool is_condition =
      is_one_of(word, {"if", "assume", "assuming", "suppose", "如果", "若", "wenn", "falls", "если"});
  return !word.empty() && word_role(word) == WordRole::kDoubt && !is_condition;
}

bool denies_verb(const Pieces& pieces, size_t position) {
  const std::string word = word_at(pieces, position), next = word_at(pieces, position + 1);
  return (word == "nu" && is_one_of(next, {"este", "e", "sunt"})) ||
         (word == "ei" && is_one_of(next, {"ole", "ollut"}));
}

bool is_exclusion(const Pieces& pieces, size_t position) {
  return position > 0 && word_at(pieces, position) == "but" &&
         is_one_of(word_at(pieces, position - 1),
                   {"anything", "everything", "nothing", "all", "any", "none", "anywhere"});
}

}  // namespace cohort::answers
