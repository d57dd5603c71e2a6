#include "cohort/rewards/choice/stated_choice.h"

#include <algorithm>
#include <set>

#include "cohort/rewards/choice/choice_texts.h"
#include "cohort/rewards/choice/clause.h"
#include "cohort/rewards/choice/words.h"

namespace cohort::choice {
namespace {

using Kind = Token::Kind;

struct Claim {
  std::string letters;
  size_t begin = 0;
};

class Reader {
 public:
  Reader(std::string_view text, const Choices& choices)
      : choices_(choices), tokens_(read_tokens(text, choices.letters())), groups_(find_groups(tokens_)) {
    find_listings();
  }

  std::optional<char> read() {
    if (const auto letter = choices_.by_words(words_of(tokens_, 0, tokens_.size()))) return letter;
    take_leading();
    for (const Group& group : groups_) take(group);
    if (!has_claim_ && approved_.empty()) take_last();
    if (is_several_ || approved_.size() > 1 || (has_claim_ && is_taken_back(tokens_, claim_.begin)))
      return std::nullopt;
    if (has_claim_ && !approved_.empty() && claim_.letters != approved_) return std::nullopt;
    const std::string& letters = has_claim_ ? claim_.letters : approved_;
    if (letters.size() == 1) return letters[0];
    return letters.empty() ? find_announced_text(tokens_, choices_) : std::nullopt;
  }

 private:
  // Does the group begin its line, up to brackets and "Option"?
  bool begins_line(const Group& group) const {
    for (size_t i = line_begin(tokens_, group.begin); i < group.begin; ++i) {
      if (!is_wrapping(tokens_[i]) && !tokens_[i].is('-') && (tokens_[i].roles & kIntro) == 0) return false;
    }
    return true;
  }

  bool is_set_off(const Group& group) const {
    const size_t next = group.last + 1;
    if (next >= tokens_.size()) return true;
    const Token& token = tokens_[next];
    return token.ends_sentence() || token.is(')') || token.is(':') || token.is('-') || token.is('"');
  }

  // Lines that list the choices in their order, from the first one on: "A) Paris", "B) Rome".
  void find_listings() {
    std::vector<size_t> run;
    const auto close = [&] {
      if (run.size() > 1) listed_.insert(run.begin(), run.end());
      run.clear();
    };
    for (size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      if (!begins_line(group) || !is_set_off(group) || stance_behind(tokens_, group) == Stance::kDenied)
        continue;
      const size_t place = choices_.letters().find(group.letters[0]);
      if (place != run.size()) close();
      if (place == run.size() && group.letters.size() == 1) run.push_back(i);
    }
    close();
  }

  bool is_listed(const Group& group) const { return listed_.contains(index_of(group)); }

  size_t index_of(const Group& group) const { return static_cast<size_t>(&group - groups_.data()); }

  // What follows the letter and its own point, where it begins a line as in "B. Paris".
  size_t behind_own_point(const Group& group) const {
    const size_t next = group.last + 1;
    const bool is_own = next < tokens_.size() && tokens_[next].kind == Kind::kEnd && begins_line(group);
    return std::min(is_own ? next + 1 : next, tokens_.size());
  }

  // Another letter in the rest of the sentence, unless a reason or a turn begins before it or it is denied. A
  // point behind the letter may be its own.
  bool is_contradicted(const Group& group) const {
    for (size_t i = index_of(group) + 1; i < groups_.size(); ++i) {
      const Group& other = groups_[i];
      if (other.letters == group.letters) continue;
      if (sentence_end(tokens_, behind_own_point(group)) < other.begin) return false;
      if (stance_before(tokens_, other) == Stance::kDenied ||
          stance_behind(tokens_, other) == Stance::kDenied)
        continue;
      return !is_apart(group.last, other.begin);
    }
    return false;
  }

  // Does a reason, a turn or an aside begin between two letters: "B because A", "B (A is a trap)", "B; see
  // A"?
  bool is_apart(size_t first, size_t second) const {
    for (size_t i = first; i < second; ++i) {
      const Token& token = tokens_[i];
      const bool is_aside = token.is('(') && second + 1 < tokens_.size() && !tokens_[second + 1].is(')');
      const bool is_clause = token.is(';') && second > i + 1;
      if ((token.roles & (kReason | kTurn | kNegation)) != 0 || is_aside || is_clause) return true;
    }
    return false;
  }

  // The text behind a letter may be another choice's.
  bool has_other_text(const Group& group) const {
    const auto other = choices_.by_words(words_of(tokens_, group.last + 1, line_end(tokens_, group.last)));
    return other && std::string(1, *other) != group.letters;
  }

  bool is_named_with_text(const Group& group) const {
    const auto own = choices_.by_words(words_of(tokens_, group.last + 1, line_end(tokens_, group.last)));
    return own && std::string(1, *own) == group.letters;
  }

  // A letter before all else is the answer: "B", "(B) Paris", "B, because".
  void take_leading() {
    if (groups_.empty()) return take_leading_word();
    const Group& group = groups_.front();
    for (size_t i = 0; i < group.begin; ++i) {
      const bool is_passed =
          is_wrapping(tokens_[i]) || tokens_[i].kind == Kind::kLine || (tokens_[i].roles & kIntro) != 0;
      if (!is_passed) return take_leading_word();
    }
    take_bare(group);
  }

  // "A dog", where the choice A is a dog.
  void take_leading_word() {
    if (tokens_.empty() || tokens_[0].kind != Kind::kWord || tokens_[0].text.size() != 1) return;
    const auto own = choices_.by_words(words_of(tokens_, 1, line_end(tokens_, 0)));
    const char letter = static_cast<char>(tokens_[0].text[0] - 'a' + 'A');
    if (own && *own == letter) claim_ = {std::string(1, letter), 0}, has_claim_ = true;
  }

  void take_bare(const Group& group) {
    if (is_listed(group)) return;
    const Stance behind = stance_behind(tokens_, group);
    const size_t end = sentence_end(tokens_, group.last);
    if (end < tokens_.size() && tokens_[end].kind == Kind::kQuestion) return;
    const bool is_small = !tokens_[group.begin].is_capital;
    const bool is_ended = is_named_with_text(group) || (is_small ? is_set_off(group) : is_bare_closed(group));
    if (behind == Stance::kDenied || behind == Stance::kDoubted || !is_ended) return;
    if (group.letters.size() > 1 || is_contradicted(group) || has_other_text(group)) {
      is_several_ = true;
      return;
    }
    claim_ = {group.letters, group.begin};
    has_claim_ = true;
  }

  // As is_closed, but "A is" and "A and" begin a sentence of their own.
  bool is_bare_closed(const Group& group) const {
    size_t next = group.last + 1;
    while (next < tokens_.size() && is_wrapping(tokens_[next])) ++next;
    if (next >= tokens_.size() || next > group.last + 1) return true;
    return is_closed(tokens_, group) &&
           (tokens_[next].kind != Kind::kWord || (tokens_[next].roles & (kReason | kNegation | kTurn)) != 0 ||
            (next + 1 < tokens_.size() && (tokens_[next + 1].roles & kNegation) != 0));
  }

  void take(const Group& group) {
    const Stance behind = stance_behind(tokens_, group);
    if (behind == Stance::kDenied) return deny(group);
    const bool is_crossing = is_listed(group);
    const Stance before = is_crossing ? Stance::kNone : stance_before(tokens_, group);
    if (before == Stance::kDenied) return deny(group);
    if (before == Stance::kDoubted || behind == Stance::kDoubted) return doubt(group);
    const bool is_turned = before == Stance::kTurned && (has_claim_ || is_denied_in_sentence(group));
    if (before == Stance::kStated || is_turned) return state(group);
    if (behind == Stance::kApproved && introduces(group) && !is_doubted(tokens_, group.begin)) approve(group);
  }

  bool is_denied_in_sentence(const Group& group) const {
    return denied_end_ != 0 && sentence_begin(tokens_, group.begin) <= denied_end_;
  }

  void deny(const Group& group) {
    denied_end_ = group.last;
    if (group.letters != claim_.letters || !has_claim_) return;
    has_claim_ = false;
    claim_ = {};
  }

  // The answer could also be C.
  void doubt(const Group& group) {
    const size_t begin = sentence_begin(tokens_, group.begin);
    for (size_t i = begin; i < group.begin; ++i) {
      if ((tokens_[i].roles & kAlso) != 0 && has_claim_ && group.letters != claim_.letters)
        is_several_ = true;
    }
  }

  bool has_role_before(const Group& group, unsigned roles) const {
    for (size_t i = sentence_begin(tokens_, group.begin); i < group.begin; ++i) {
      if ((tokens_[i].roles & roles) != 0) return true;
    }
    return false;
  }

  void state(const Group& group) {
    if (group.letters.size() > 1 || is_contradicted(group) || has_other_text(group)) {
      is_several_ = true;
      return;
    }
    const bool is_other = has_claim_ && claim_.letters != group.letters;
    const bool is_turned = has_role_before(group, kTurn | kConclude) || lies_apart(group);
    is_several_ = is_other && (!is_turned || has_role_before(group, kAlso));
    approved_.clear();
    claim_ = {group.letters, group.begin};
    has_claim_ = true;
  }

  // Does a sentence, or a line, lie between the last claim and this one?
  bool lies_apart(const Group& group) const {
    const size_t begin = sentence_begin(tokens_, group.begin), end = sentence_end(tokens_, claim_.begin);
    int num_stops = 0, num_words = 0;
    for (size_t i = end; i < begin; ++i) {
      num_stops += tokens_[i].ends_sentence();
      num_words += !tokens_[i].ends_sentence() && !is_wrapping(tokens_[i]);
    }
    return num_stops > 1 && num_words > 1;
  }

  void approve(const Group& group) {
    for (const char letter : group.letters) {
      if (approved_.find(letter) == std::string::npos) approved_ += letter;
    }
  }

  // "Vitamin C is correct" names no choice.
  bool introduces(const Group& group) const {
    if (group.begin == 0) return true;
    size_t i = group.begin - 1;
    while (i > 0 && is_wrapping(tokens_[i])) --i;
    const Token& token = tokens_[i];
    if (token.kind == Kind::kUnspaced) {
      std::string words = token.text;
      constexpr std::string_view kBefore[] = {
          "选项",   "選項", "所以",   "因此",       "只有", "故",     "选择", "選択肢", "即",   "而", "但",
          "선택지", "보기", "よって", "したがって", "その", "따라서", "则",   "可知",   "可见", "以"};
      return std::any_of(std::begin(kBefore), std::end(kBefore),
                         [&](std::string_view head) { return words.ends_with(head); });
    }
    if (token.kind != Kind::kWord) return token.kind != Kind::kNumber;
    constexpr std::string_view kPrepositions[] = {"of", "in", "to",   "with", "for", "from",
                                                  "by", "on", "than", "as",   "de",  "von"};
    const bool is_part =
        std::find(std::begin(kPrepositions), std::end(kPrepositions), token.text) != std::end(kPrepositions);
    return (token.roles != 0 && !is_part) || i != group.begin - 1;
  }

  // A letter alone at the end: in a line, or a sentence.
  void take_last() {
    if (groups_.empty()) return;
    const Group& group = groups_.back();
    const size_t begin = line_begin(tokens_, group.begin);
    if (has_words(line_end(tokens_, group.last), tokens_.size())) return;
    if (begins_line(group)) return take_bare(group);
    const bool is_sentence = sentence_begin(tokens_, group.begin) > begin &&
                             !has_words(sentence_begin(tokens_, group.begin), group.begin) &&
                             !has_words(group.last + 1, tokens_.size());
    if (is_sentence) take_bare(group);
  }

  bool has_words(size_t begin, size_t end) const {
    for (size_t i = begin; i < end; ++i) {
      if (!is_wrapping(tokens_[i]) && !tokens_[i].ends_sentence()) return true;
    }
    return false;
  }

  const Choices& choices_;
  Tokens tokens_;
  std::vector<Group> groups_;
  std::set<size_t> listed_;
  Claim claim_;
  bool has_claim_ = false, is_several_ = false;
  std::string approved_;
  size_t denied_end_ = 0;
};

}  // namespace

std::optional<char> find_stated_choice(std::string_view text, const Choices& choices) {
  return Reader(text, choices).read();
}

bool has_choice_letter(std::string_view text, const Choices& choices) {
  const Tokens tokens = read_tokens(text, choices.letters());
  return std::any_of(tokens.begin(), tokens.end(), is_letter);
}

}  // namespace cohort::choice
