// What single words do to a letter of choice near them, in the languages that models answer in.
#pragma once

#include <string_view>

namespace cohort::choice {

enum Role : unsigned {
  kNoun = 1U << 0,        ///< answer, respuesta: what is announced
  kPlural = 1U << 1,      ///< answers, options: what is listed
  kIntro = 1U << 2,       ///< option, letter: stands before a letter
  kCopula = 1U << 3,      ///< is, would be
  kModal = 1U << 4,       ///< must, would: stands before a copula
  kFiller = 1U << 5,      ///< the, clearly: changes nothing
  kChoose = 1U << 6,      ///< choose, pick
  kConclude = 1U << 7,    ///< therefore, so
  kNegation = 1U << 8,    ///< not, isn't
  kExclude = 1U << 9,     ///< than, unlike, eliminate: what follows is not meant
  kApprove = 1U << 10,    ///< correct, right
  kRefute = 1U << 11,     ///< wrong, false
  kDoubt = 1U << 12,      ///< might, maybe, thought
  kCondition = 1U << 13,  ///< if, unless
  kReason = 1U << 14,     ///< because, since, while: another clause follows
  kJoin = 1U << 15,       ///< and, or
  kTurn = 1U << 16,       ///< but, however, actually
  kLink = 1U << 17,       ///< matches, namely: what follows is the same
  kPronoun = 1U << 18,    ///< it, this, which
  kOnly = 1U << 19,       ///< only
  kAlso = 1U << 20,       ///< also, too
  kVerb = 1U << 21,       ///< works, has: a letter before it is a letter
  kHarmless = 1U << 22,   ///< hard, surprising: "not" before it denies nothing
  kRest = 1U << 23,       ///< leaves, leaving
};

/// The roles of a word in lower case; 0 for words that have none.
unsigned roles_of(std::string_view word);

}  // namespace cohort::choice
