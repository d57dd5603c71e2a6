#include <algorithm>

#include "cohort/rewards/choice/clause.h"
#include "cohort/rewards/choice/words.h"

namespace cohort::choice {
namespace {

using Kind = Token::Kind;

// Is what is approved the answer, and not "the correct formula"?
bool ends_approval(const Tokens& tokens, size_t next) {
  if (next >= tokens.size() || tokens[next].ends_sentence()) return true;
  const Token& token = tokens[next];
  if (token.kind == Kind::kMark) return !token.is('=');
  if ((token.roles & kCondition) != 0 || (token.roles & kOnly) != 0 || token.text == "when") return false;
  constexpr unsigned kAllowed = kNoun | kIntro | kReason | kJoin | kTurn | kConclude | kNegation;
  return (token.roles & kAllowed) != 0 || token.text == "statement" || token.text == "one" ||
         token.text == "here";
}

struct Predicate {
  bool has_copula = false, is_negated = false, is_doubted = false, has_only = false;
  size_t next = 0;
};

// is, would be, is not, cannot be, is therefore the
Predicate read_predicate(const Tokens& tokens, size_t i) {
  constexpr unsigned kLinking = kCopula | kModal | kFiller | kAlso | kConclude | kPronoun;
  Predicate predicate;
  for (; i < tokens.size(); ++i) {
    const unsigned roles = tokens[i].roles;
    if (tokens[i].kind != Kind::kWord || ((roles & (kApprove | kRefute)) != 0)) break;
    if ((roles & kNegation) != 0) {
      predicate.is_negated = true;
    } else if ((roles & kDoubt) != 0) {
      predicate.is_doubted = true;
    } else if ((roles & kOnly) != 0) {
      predicate.has_only = true;
    } else if ((roles & kLinking) == 0) {
      break;
    }
    predicate.has_copula |= (roles & kCopula) != 0 || tokens[i].text.ends_with("n't") ||
                            tokens[i].text == "cannot" || tokens[i].text.starts_with("değil");
  }
  predicate.next = i;
  return predicate;
}

bool is_tick(const Token& token) { return token.text == "\u2713" || token.text == "\u2717"; }

// "B) Rome - correct": the stance at the end of the choice's own text.
Stance stance_at_end(const Tokens& tokens, size_t begin) {
  const size_t end = std::min(sentence_end(tokens, begin), begin + kMaxWords);
  bool is_negated = false;
  for (size_t i = begin; i < end; ++i) {
    const Token& token = tokens[i];
    if (is_letter(token) || (token.roles & (kReason | kCondition | kTurn)) != 0) return Stance::kNone;
    is_negated |= denies(tokens, i);
    const bool is_said = is_tick(token) || tokens[i - 1].is('-') || tokens[i - 1].is('(') ||
                         tokens[i - 1].is(':') || tokens[i - 1].is('>') ||
                         read_predicate(tokens, i - 1).has_copula;
    const bool is_last = i + 1 == end || is_wrapping(tokens[i + 1]) || tokens[i + 1].is(',') ||
                         (tokens[i + 1].roles & (kReason | kNoun)) != 0;
    if (!is_said || !is_last) continue;
    if ((token.roles & kRefute) != 0) return is_negated ? Stance::kNone : Stance::kDenied;
    if ((token.roles & kApprove) != 0) return is_negated ? Stance::kDenied : Stance::kApproved;
  }
  return Stance::kNone;
}

// What stands between a letter and the words that judge it.
struct Tail {
  size_t next = 0;
  bool is_said = false;     ///< "B: correct", "B (correct)", "B \u2713"
  bool is_set_off = false;  ///< "B) Rome"
  bool is_clause = false;   ///< "B, which is"
};

Tail read_tail(const Tokens& tokens, const Group& group) {
  Tail tail;
  size_t i = group.last + 1;
  for (; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    const bool is_own_point = token.text == "." && i == group.last + 1;
    const bool is_link = token.is(':') || token.is('-') || token.is('(');
    tail.is_said |= is_link;
    tail.is_set_off |= token.is(')') || token.is(':') || is_own_point;
    if (!is_wrapping(token) && !is_link && !is_own_point && (token.roles & kIntro) == 0) break;
  }
  tail.is_clause = i + 1 < tokens.size() && tokens[i].is(',') && (tokens[i + 1].roles & kPronoun) != 0;
  tail.next = tail.is_clause ? i + 2 : i;
  tail.is_said |= tail.next < tokens.size() && is_tick(tokens[tail.next]);
  return tail;
}

Stance stance_of_predicate(const Tokens& tokens, const Group& group, const Tail& tail) {
  const Predicate predicate = read_predicate(tokens, tail.next);
  const unsigned roles = roles_at(tokens, predicate.next);
  size_t before = group.begin;
  while (before > 0 && is_wrapping(tokens[before - 1])) --before;
  size_t first = before;
  while (first > 0 && (is_wrapping(tokens[first - 1]) || (tokens[first - 1].roles & kIntro) != 0)) --first;
  const bool is_only = first > 0 && (tokens[first - 1].roles & kOnly) != 0;
  // "ist B richtig", "Вариант B правильный"
  const bool is_inverted = before > 0 && (tokens[before - 1].roles & (kCopula | kIntro | kNoun)) != 0;
  const bool is_verb = predicate.next < tokens.size() && tokens[predicate.next].text.starts_with("fail");
  const bool is_linked = predicate.has_copula || tail.is_said || is_inverted || is_verb;
  if (predicate.is_doubted) return Stance::kDoubted;
  if ((roles & kRefute) != 0 && is_linked) return predicate.is_negated ? Stance::kNone : Stance::kDenied;
  if ((roles & kApprove) != 0 && is_linked && ends_approval(tokens, predicate.next + 1))
    return predicate.is_negated ? Stance::kDenied : Stance::kApproved;
  // "Only B works", "Only B is true"
  const bool is_single = is_only && !predicate.is_negated && (roles & kRefute) == 0 &&
                         (predicate.has_copula || (roles & (kVerb | kRest)) != 0);
  if (is_single) return Stance::kApproved;
  const bool is_noun =
      (roles & kNoun) != 0 || ((roles & kIntro) != 0 && (predicate.has_only || predicate.is_negated));
  if (is_noun && predicate.has_copula) return predicate.is_negated ? Stance::kDenied : Stance::kApproved;
  const bool is_denied = predicate.has_copula && predicate.is_negated && !tail.is_clause;
  return is_denied ? Stance::kDenied : Stance::kNone;
}

}  // namespace

Stance stance_behind(const Tokens& tokens, const Group& group) {
  if (asks(tokens, group.last)) return Stance::kNone;
  const Stance unspaced = stance_behind(unspaced_behind(tokens, group.last));
  if (unspaced != Stance::kNone) return unspaced;
  const Tail tail = read_tail(tokens, group);
  if (tail.next >= tokens.size()) return Stance::kNone;
  const bool is_it_is = tokens[tail.next].text == "it" && (roles_at(tokens, tail.next + 1) & kCopula) != 0 &&
                        tail.next + 2 >= sentence_end(tokens, tail.next);
  if (is_it_is) return Stance::kApproved;  // B it is.
  const Stance stance = stance_of_predicate(tokens, group, tail);
  return stance == Stance::kNone && tail.is_set_off ? stance_at_end(tokens, tail.next) : stance;
}

bool is_taken_back(const Tokens& tokens, size_t claim) {
  size_t begin = sentence_end(tokens, claim);
  while (begin < tokens.size() && tokens[begin].ends_sentence()) ++begin;
  for (size_t i = begin, end = sentence_end(tokens, begin); i + 1 < end; ++i) {
    const Token &token = tokens[i], &next = tokens[i + 1];
    if (is_letter(token)) return false;
    const bool is_scratched = token.text == "scratch" && next.text == "that";
    const bool is_mistake =
        token.text == "i" && (next.text == "made" || next.text == "was" || next.text == "misread");
    if (is_scratched || is_mistake) return true;
    if ((token.roles & kPronoun) == 0) continue;
    const bool is_copula = (next.roles & kCopula) != 0 || (token.roles & kCopula) != 0;
    for (size_t k = i + 1; is_copula && k < std::min(end, i + 5); ++k) {
      const bool is_negated = (tokens[k - 1].roles & kNegation) != 0;
      if ((tokens[k].roles & kRefute) != 0 || (is_negated && (tokens[k].roles & kApprove) != 0)) return true;
    }
  }
  return false;
}

}  // namespace cohort::choice
