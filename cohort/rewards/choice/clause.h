// What the words around a letter say of it, within its sentence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cohort/rewards/choice/tokens.h"
#include "cohort/rewards/choice/unspaced.h"

namespace cohort::choice {

using Tokens = std::vector<Token>;

/// Letters that stand together: "B", "A and C".
struct Group {
  std::string letters;  ///< each once
  size_t begin = 0;     ///< its first and its last label in the tokens
  size_t last = 0;
};

/// Tokens that are searched for the beginning or the end of a sentence.
constexpr size_t kMaxSentence = 400;

/// Words of a clause that are searched for its announcement.
constexpr size_t kMaxWords = 24;

/// All groups of letters of a text, in order.
std::vector<Group> find_groups(const Tokens& tokens);

/// What stands before the group says that it is the answer (kStated), is not (kDenied), or neither; kTurned
/// for "but" and the like.
Stance stance_before(const Tokens& tokens, const Group& group);

/// Does the sentence up to token `end` put what follows as a guess, a condition, or the opinion of others?
bool is_doubted(const Tokens& tokens, size_t end);

/// What stands behind it: "is correct" (kApproved), "is wrong" (kDenied).
Stance stance_behind(const Tokens& tokens, const Group& group);

/// Does the sentence behind that of token `claim` say that it is wrong: "Wait, that is wrong"?
bool is_taken_back(const Tokens& tokens, size_t claim);

/// Is the letter set off from what follows: "B)", "B.", "B because", but not "B cells"?
bool is_closed(const Tokens& tokens, const Group& group);

/// The first token of the sentence that holds token `i`, and the one behind its last.
size_t sentence_begin(const Tokens& tokens, size_t i);
size_t sentence_end(const Tokens& tokens, size_t i);

/// The first token of the line that holds token `i`, and the one behind its last.
size_t line_begin(const Tokens& tokens, size_t i);
size_t line_end(const Tokens& tokens, size_t i);

/// Is the sentence that holds token `i` a question?
bool asks(const Tokens& tokens, size_t i);

/// The roles of token `i`; 0 behind the end.
unsigned roles_at(const Tokens& tokens, size_t i);

/// Is token `i` a "not" that denies, unlike "not hard to see"?
bool denies(const Tokens& tokens, size_t i);

/// The words without blanks that stand right before token `begin`, and right behind token `last`.
std::string unspaced_before(const Tokens& tokens, size_t begin);
std::string unspaced_behind(const Tokens& tokens, size_t last);

/// Brackets and quotes.
bool is_wrapping(const Token& token);

bool is_letter(const Token& token);

}  // namespace cohort::choice
