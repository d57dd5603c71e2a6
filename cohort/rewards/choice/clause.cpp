#include "cohort/rewards/choice/clause.h"

#include <algorithm>

#include "cohort/rewards/choice/words.h"

namespace cohort::choice {

using Kind = Token::Kind;

unsigned roles_at(const Tokens& tokens, size_t i) { return i < tokens.size() ? tokens[i].roles : 0; }

bool denies(const Tokens& tokens, size_t i) {
  return (roles_at(tokens, i) & kNegation) != 0 && (roles_at(tokens, i + 1) & kHarmless) == 0;
}

bool asks(const Tokens& tokens, size_t i) {
  const size_t end = sentence_end(tokens, i);
  return end < tokens.size() && tokens[end].kind == Kind::kQuestion;
}

bool is_doubted(const Tokens& tokens, size_t end) {
  bool is_clause = true;
  for (size_t i = end, first = sentence_begin(tokens, end); i-- > first;) {
    const unsigned roles = tokens[i].roles;
    if ((roles & kCondition) != 0) return true;
    if ((roles & (kTurn | kConclude)) != 0) return false;
    if (tokens[i].is(',') || tokens[i].is(';') || tokens[i].is(':')) is_clause = false;
    if (is_clause && ((roles & (kDoubt | kExclude)) != 0 || denies(tokens, i))) return true;
    if (is_letter(tokens[i])) is_clause = false;
  }
  return false;
}

bool is_wrapping(const Token& token) {
  return token.is('(') || token.is(')') || token.is('"') || token.is('\'');
}

bool is_letter(const Token& token) { return token.kind == Kind::kLabel || token.kind == Kind::kRun; }

size_t sentence_begin(const Tokens& tokens, size_t i) {
  const size_t first = i > kMaxSentence ? i - kMaxSentence : 0;
  while (i > first && !tokens[i - 1].ends_sentence()) --i;
  return i;
}

size_t sentence_end(const Tokens& tokens, size_t i) {
  const size_t last = std::min(tokens.size(), i + kMaxSentence);
  while (i < last && !tokens[i].ends_sentence()) ++i;
  return i;
}

size_t line_begin(const Tokens& tokens, size_t i) {
  const size_t first = i > kMaxSentence ? i - kMaxSentence : 0;
  while (i > first && tokens[i - 1].kind != Kind::kLine) --i;
  return i;
}

size_t line_end(const Tokens& tokens, size_t i) {
  const size_t last = std::min(tokens.size(), i + kMaxSentence);
  while (i < last && tokens[i].kind != Kind::kLine) ++i;
  return i;
}

bool is_closed(const Tokens& tokens, const Group& group) {
  size_t next = group.last + 1;
  bool is_bracketed = false;
  for (; next < tokens.size() && is_wrapping(tokens[next]); ++next) is_bracketed = true;
  if (is_bracketed || next >= tokens.size() || tokens[next].ends_sentence()) return true;
  const Token& token = tokens[next];
  if (token.kind == Kind::kMark) return !token.is('/') && !token.is('=');
  if (token.kind == Kind::kUnspaced)
    return token.is_spaced || may_follow(unspaced_behind(tokens, group.last));
  constexpr unsigned kClauses =
      kReason | kTurn | kNegation | kJoin | kCopula | kConclude | kFiller | kAlso | kExclude | kIntro;
  return token.kind == Kind::kWord && (token.roles & kClauses) != 0 && (token.roles & kCondition) == 0;
}

std::string unspaced_before(const Tokens& tokens, size_t begin) {
  std::string words;
  for (size_t i = begin; i-- > 0;) {
    const Token& token = tokens[i];
    if (token.kind == Kind::kUnspaced) {
      words.insert(0, token.text);
    } else if (token.is(':')) {
      words.insert(0, ":");
    } else if (token.is(',') && words.empty() && i > 0 && tokens[i - 1].kind == Kind::kUnspaced) {
      words = concluding_end(tokens[i - 1].text);
      break;
    } else if (!is_wrapping(token) && !token.is('-') &&
               !(token.kind == Kind::kLine && words.starts_with(":"))) {
      break;
    }
  }
  return words;
}

std::string unspaced_behind(const Tokens& tokens, size_t last) {
  std::string words;
  for (size_t i = last + 1; i < tokens.size(); ++i) {
    if (tokens[i].kind == Kind::kUnspaced) {
      words += tokens[i].text;
    } else if (!is_wrapping(tokens[i]) && !(words.empty() && tokens[i].is(':'))) {
      break;
    }
  }
  return words;
}

namespace {

// Is the text between two letters nothing but what joins them?
bool are_joined(const Tokens& tokens, size_t left, size_t right) {
  bool is_joined = false, has_word = false;
  for (size_t i = left + 1; i < right; ++i) {
    const Token& token = tokens[i];
    const bool is_mark = token.is(',') || token.is('/');
    const bool is_word =
        (token.roles & kJoin) != 0 || (token.kind == Kind::kUnspaced && is_unspaced_join(token.text));
    is_joined |= is_mark || is_word;
    has_word |= is_word;
    const bool is_passed =
        is_mark || is_word || is_wrapping(token) || (token.roles & (kIntro | kAlso)) != 0 || token.is('-');
    if (!is_passed) return false;
  }
  return is_joined || right == left + 1 || has_word;
}

// "B, A is wrong" and "B, and A is wrong" have a new clause behind the comma.
bool begins_clause(const Tokens& tokens, size_t left, size_t label) {
  bool has_or = false;
  for (size_t i = left + 1; i < label; ++i) has_or |= tokens[i].text == "or" || tokens[i].text == "either";
  size_t next = label + 1;
  while (next < tokens.size() && is_wrapping(tokens[next])) ++next;
  if (next >= tokens.size()) return false;
  const Token& token = tokens[next];
  const bool is_plural = token.text == "are" || token.text == "both" || token.text == "son" ||
                         token.text == "sont" || token.text == "sind" || token.text == "were";
  const bool is_verb = (token.roles & (kCopula | kVerb | kNegation)) != 0 && !is_plural;
  const bool is_unspaced_verb = token.kind == Kind::kUnspaced && tokens[left + 1].is(',') &&
                                !is_unspaced_join(token.text) &&
                                stance_behind(unspaced_behind(tokens, label)) == Stance::kDenied &&
                                token.text.find("都") == std::string::npos;
  return (is_verb && !has_or) || is_unspaced_verb;
}

}  // namespace

std::vector<Group> find_groups(const Tokens& tokens) {
  std::vector<Group> groups;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!is_letter(tokens[i])) continue;
    const bool continues = !groups.empty() && are_joined(tokens, groups.back().last, i) &&
                           !begins_clause(tokens, groups.back().last, i);
    if (!continues) groups.push_back({"", i, i});
    groups.back().last = i;
    for (const char letter : tokens[i].letters) {
      if (groups.back().letters.find(letter) == std::string::npos) groups.back().letters += letter;
    }
  }
  return groups;
}

}  // namespace cohort::choice
