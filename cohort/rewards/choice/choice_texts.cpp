#include "cohort/rewards/choice/choice_texts.h"

#include <algorithm>

#include "cohort/rewards/choice/words.h"

namespace cohort::choice {
namespace {

using Kind = Token::Kind;

constexpr size_t kMaxText = 40;        // words of a choice
constexpr int kMaxAnnouncements = 32;  // that are tried, from the last one on

bool has_noun_before(const Tokens& tokens, size_t i) {
  bool has_noun = (tokens[i].roles & kChoose) != 0;
  for (size_t k = i; k-- > sentence_begin(tokens, i);) {
    if ((tokens[k].roles & (kDoubt | kNegation | kRefute | kCondition | kPlural)) != 0) return false;
    has_noun |= (tokens[k].roles & (kNoun | kIntro)) != 0;
  }
  return has_noun;
}

// The choice whose text begins at `begin` and ends with a clause.
std::optional<char> text_at(const Tokens& tokens, size_t begin, const Choices& choices) {
  for (size_t end = std::min(line_end(tokens, begin), begin + kMaxText); end > begin; --end) {
    const bool is_end = end == tokens.size() || tokens[end].kind != Kind::kWord ||
                        (tokens[end].roles & (kReason | kTurn)) != 0;
    if (!is_end) continue;
    if (const auto letter = choices.by_words(words_of(tokens, begin, end))) return letter;
  }
  return std::nullopt;
}

}  // namespace

std::string words_of(const Tokens& tokens, size_t begin, size_t end) {
  std::string words;
  for (size_t i = begin; i < end; ++i) {
    const Token& token = tokens[i];
    const bool is_dropped = is_wrapping(token) || token.kind == Kind::kEnd || token.kind == Kind::kLine;
    if (!is_dropped) words += (words.empty() ? "" : " ") + token.text;
  }
  return words;
}

std::optional<char> find_announced_text(const Tokens& tokens, const Choices& choices) {
  if (!choices.has_texts()) return std::nullopt;
  int num_left = kMaxAnnouncements;
  for (size_t i = tokens.size(); i-- > 0 && num_left > 0;) {
    const bool is_announced = (tokens[i].roles & (kCopula | kChoose)) != 0 || tokens[i].is(':');
    if (!is_announced || !has_noun_before(tokens, i)) continue;
    size_t begin = i + 1;
    while (begin < tokens.size() && (tokens[begin].kind == Kind::kLine || tokens[begin].is(':'))) ++begin;
    if (const auto letter = text_at(tokens, begin, choices)) return letter;
    --num_left;
  }
  return std::nullopt;
}

Choices::Choices(std::string letters, const std::vector<std::string>& texts) : letters_(std::move(letters)) {
  for (const std::string& text : texts) {
    const Tokens tokens = read_tokens(text, "");
    words_.push_back(words_of(tokens, 0, tokens.size()));
  }
}

std::optional<char> Choices::by_words(const std::string& words) const {
  const auto found = std::find(words_.begin(), words_.end(), words);
  const bool is_one =
      !words.empty() && found != words_.end() && std::count(words_.begin(), words_.end(), words) == 1;
  return is_one ? std::optional(letters_[static_cast<size_t>(found - words_.begin())]) : std::nullopt;
}

}  // namespace cohort::choice
