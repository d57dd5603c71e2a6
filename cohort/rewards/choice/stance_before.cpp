#include <algorithm>

#include "cohort/rewards/choice/clause.h"
#include "cohort/rewards/choice/words.h"

namespace cohort::choice {
namespace {

using Kind = Token::Kind;

// The correct statement is: "right" may be a side.
bool is_correct(const Token& token) {
  return (token.roles & kApprove) != 0 && token.text != "right" && token.text != "valid" &&
         token.text != "accurate";
}

struct Announcement {
  bool is_found = false;
  bool is_refuted = false;  ///< the wrong answer is
};

// Is there a noun such as "answer" in the clause that ends before token `end`, with no other letter behind
// it?
Announcement find_noun(const Tokens& tokens, size_t end) {
  Announcement found;
  const size_t first = end > kMaxWords ? end - kMaxWords : 0;
  for (size_t i = end; i-- > first;) {
    const Token& token = tokens[i];
    if (token.ends_sentence() || is_letter(token) || (token.roles & kTurn) != 0 || token.is(';')) break;
    if (token.is(',') && found.is_found) break;
    if ((token.roles & kPlural) != 0) return {};
    const bool is_noun = (token.roles & (kNoun | kIntro)) != 0 || is_correct(token);
    const bool is_refuted = (token.roles & kRefute) != 0;
    found.is_found = found.is_found || is_noun;
    found.is_refuted = found.is_refuted || is_refuted;
    const bool is_right = (token.roles & kApprove) != 0 && denies(tokens, i > 0 ? i - 1 : tokens.size());
    found.is_refuted = found.is_refuted || is_right;
  }
  return found;
}

// "Therefore" and "No" before a comma.
bool opens_sentence(const Tokens& tokens, size_t i) {
  return (tokens[i].roles & (kConclude | kTurn)) != 0 ||
         (tokens[i].text == "no" && sentence_begin(tokens, i) == i);
}

// The words that lead to a letter, read from it backwards.
struct Lead {
  size_t core = 0;  ///< behind the first word that is no filler; 0 at the beginning of the text
  bool has_noun = false, has_intro = false, has_colon = false, has_bracket = false;
  bool has_arrow = false;
  bool is_opening = false;  ///< the core opens its sentence before a comma: "Therefore, B", "No, B"
  int num_lines = 0;
};

Lead read_lead(const Tokens& tokens, size_t begin) {
  Lead lead;
  size_t i = begin;
  for (; i > 0; --i) {
    const Token& token = tokens[i - 1];
    if (token.kind == Kind::kLine) {
      if (++lead.num_lines > 3) break;
    } else if (token.is(':') || token.is('-') || token.is('>') || token.is('=')) {
      lead.has_colon = true;
      lead.has_arrow |= token.is('>');
    } else if (token.is(',') && i > 1 && opens_sentence(tokens, i - 2)) {
      lead.is_opening = true;
      --i;
      break;
    } else if (is_wrapping(token)) {
      lead.has_bracket |= token.is('(');
    } else {
      const bool ends = (token.roles & (kCopula | kNegation | kConclude | kTurn)) != 0;
      if (ends || (token.roles & (kNoun | kIntro | kFiller | kOnly)) == 0) break;
      lead.has_noun |= (token.roles & kNoun) != 0;
      lead.has_intro |= (token.roles & kIntro) != 0;
    }
  }
  lead.core = i;
  return lead;
}

// The answer is B; it must be B; the answer isn't B.
Stance stance_of_copula(const Tokens& tokens, const Lead& lead, bool is_set_off) {
  size_t subject = lead.core;
  const bool is_denied = denies(tokens, lead.core - 1);
  for (; subject > 0; --subject) {
    const unsigned roles = tokens[subject - 1].roles;
    if (denies(tokens, subject - 1)) return Stance::kDenied;
    if ((roles & kDoubt) != 0) return Stance::kDoubted;
    if ((roles & (kCopula | kModal)) == 0 && ((roles & kFiller) == 0 || (roles & kPronoun) != 0)) break;
  }
  if (is_denied) return Stance::kDenied;
  const bool is_it = (tokens[lead.core - 1].roles & kPronoun) != 0;
  const bool is_pronoun = is_it || (subject > 0 && (tokens[subject - 1].roles & kPronoun) != 0);
  const Announcement noun = find_noun(tokens, lead.core);
  if (is_doubted(tokens, subject)) return Stance::kDoubted;
  if (noun.is_refuted) return noun.is_found ? Stance::kDenied : Stance::kNone;
  return noun.is_found || is_pronoun || lead.has_noun || lead.has_intro || is_set_off ? Stance::kStated
                                                                                      : Stance::kNone;
}

// Answer: B; Final answer (B); Correct: B.
Stance stance_of_heading(const Tokens& tokens, const Lead& lead, const Group& group) {
  if (is_doubted(tokens, lead.core)) return Stance::kNone;
  if (lead.has_arrow && lead.core == sentence_begin(tokens, group.begin)) return Stance::kStated;
  Announcement noun = find_noun(tokens, group.begin);
  // A heading may stand in a line of its own.
  if (!noun.is_found && lead.num_lines > 0) noun = find_noun(tokens, std::min(lead.core + 4, group.begin));
  const bool is_announced = lead.has_noun || lead.has_colon;
  if (noun.is_refuted) return is_announced ? Stance::kDenied : Stance::kNone;
  const bool is_right = std::any_of(tokens.begin() + static_cast<int64_t>(lead.core),
                                    tokens.begin() + static_cast<int64_t>(group.begin), is_correct);
  if (lead.has_noun || (lead.has_intro && (lead.has_colon || is_right))) return Stance::kStated;
  if (!lead.has_colon) return Stance::kNone;
  const Token* word = lead.core > 0 ? &tokens[lead.core - 1] : nullptr;
  if (word && word->kind == Kind::kNumber && lead.core > 1) word = &tokens[lead.core - 2];
  const bool is_heading = word && ((word->roles & (kApprove | kConclude)) != 0 || word->text == "question" ||
                                   word->text == "problem");
  return noun.is_found || is_heading ? Stance::kStated : Stance::kNone;
}

// The answer is mitochondria (B); the answer is 12, option B.
bool follows_announced_value(const Tokens& tokens, const Lead& lead, const Group& group) {
  const bool is_in_brackets =
      lead.has_bracket && group.last + 1 < tokens.size() && tokens[group.last + 1].is(')');
  const Token& before = tokens[lead.core - 1];
  if (!is_in_brackets && !(before.is(',') && lead.has_intro)) return false;
  bool has_copula = false;
  const size_t first = sentence_begin(tokens, lead.core);
  for (size_t end = lead.core; end > first && !is_letter(tokens[end - 1]); --end) {
    const size_t i = end - 1;
    const unsigned roles = tokens[i].roles;
    if ((roles & kTurn) != 0 || (roles & kReason) != 0) return false;
    if ((roles & kCopula) != 0 || tokens[i].is(':')) has_copula = true;
    if (has_copula && (roles & kNoun) != 0) return (roles & kPlural) == 0 && !is_doubted(tokens, i);
    if (denies(tokens, i)) return false;
  }
  return false;
}

// As is_closed, but no verb may follow: "so A", but not "so A is".
bool is_clause_end(const Tokens& tokens, const Group& group) {
  if (!is_closed(tokens, group)) return false;
  const size_t next = group.last + 1;
  constexpr unsigned kClauses = kReason | kTurn | kNegation | kConclude | kJoin | kFiller | kExclude;
  return next >= tokens.size() || tokens[next].kind != Kind::kWord ||
         ((tokens[next].roles & kClauses) != 0 && (tokens[next].roles & (kCopula | kModal)) == 0);
}

// choose, go with, opt for
bool is_choosing(const Tokens& tokens, size_t at) {
  if ((tokens[at].roles & kChoose) != 0) return true;
  const std::string& word = tokens[at].text;
  if (word == "für") return at > 1 && tokens[at - 2].text.starts_with("entscheid");
  if (at == 0 || (word != "with" && word != "for" && word != "on")) return false;
  constexpr std::string_view kVerbs[] = {"go",      "going",    "went",  "opt",      "opting", "settle",
                                         "settled", "settling", "stick", "sticking", "left"};
  return std::find(std::begin(kVerbs), std::end(kVerbs), tokens[at - 1].text) != std::end(kVerbs);
}

Stance stance_of_choosing(const Tokens& tokens, size_t at, bool is_ended) {
  const bool is_denied = (at > 0 && denies(tokens, at - 1)) || (at > 1 && denies(tokens, at - 2));
  if (is_denied) return Stance::kDenied;
  if (find_noun(tokens, at).is_refuted) return Stance::kDenied;
  if (is_doubted(tokens, at)) return Stance::kDoubted;
  return is_ended ? Stance::kStated : Stance::kNone;
}

// Right before the letter stands "namely", "matches", "leaves" or "corresponds to".
Stance stance_of_link(const Tokens& tokens, size_t at, bool is_marked, bool is_ended) {
  const bool is_to = tokens[at].text == "to";
  const unsigned roles = is_to && at > 0 ? tokens[at - 1].roles : tokens[at].roles;
  const bool is_certain = is_to || is_marked || (roles & kRest) != 0;
  const bool is_link = is_ended && is_certain && (roles & (kLink | kRest)) != 0;
  return is_link && !is_doubted(tokens, at) ? Stance::kStated : Stance::kNone;
}

Stance stance_of_core(const Tokens& tokens, const Lead& lead, const Group& group) {
  const size_t at = lead.core - 1;
  const unsigned roles = tokens[at].roles;
  const bool is_ended = is_clause_end(tokens, group);
  const bool is_set_off = lead.has_bracket && is_closed(tokens, group);
  if (tokens[at].text == "instead" && tokens[at + 1].text == "of") return Stance::kDenied;
  if (lead.is_opening && (roles & kConclude) == 0) return Stance::kTurned;
  if ((roles & kCopula) != 0) return stance_of_copula(tokens, lead, is_set_off);
  if (denies(tokens, at)) return Stance::kDenied;
  const bool is_ruled_out = tokens[at].text == "out" && at > 0 && tokens[at - 1].text.starts_with("rul");
  if ((roles & kExclude) != 0 || is_ruled_out) return Stance::kDenied;
  if (is_choosing(tokens, at)) return stance_of_choosing(tokens, at, is_ended || lead.has_noun);
  if ((roles & kTurn) != 0) return is_ended ? Stance::kTurned : Stance::kNone;
  if ((roles & kConclude) != 0) return is_ended || lead.has_noun ? Stance::kStated : Stance::kNone;
  const Stance link = stance_of_link(tokens, at, lead.has_intro || is_set_off, is_ended);
  if (link != Stance::kNone) return link;
  const bool is_polish = tokens[at].text == "to" && at > 0 && tokens[at - 1].text.starts_with("odpowied");
  if (is_polish && is_ended) return Stance::kStated;
  if (follows_announced_value(tokens, lead, group)) return Stance::kStated;
  return stance_of_heading(tokens, lead, group);
}

}  // namespace

Stance stance_before(const Tokens& tokens, const Group& group) {
  if (const Stance unspaced = stance_before(unspaced_before(tokens, group.begin));
      unspaced != Stance::kNone) {
    const bool is_open = unspaced != Stance::kDenied && !is_closed(tokens, group) &&
                         stance_behind(unspaced_behind(tokens, group.last)) != Stance::kApproved;
    const bool is_certain = unspaced == Stance::kDenied || !is_doubted(tokens, group.begin);
    return is_open || !is_certain || asks(tokens, group.last) ? Stance::kNone : unspaced;
  }
  const Lead lead = read_lead(tokens, group.begin);
  Stance stance = Stance::kNone;
  if (lead.core == 0 || tokens[lead.core - 1].ends_sentence()) {
    stance = lead.has_noun || lead.has_colon || lead.has_intro ? stance_of_heading(tokens, lead, group)
                                                               : Stance::kNone;
  } else {
    stance = stance_of_core(tokens, lead, group);
    const bool is_crossed = lead.num_lines > 0 && !lead.has_colon && !lead.has_noun &&
                            (tokens[lead.core - 1].roles & kCopula) == 0;
    if (is_crossed) return Stance::kNone;
  }
  if (stance != Stance::kStated && stance != Stance::kTurned) return stance;
  return is_closed(tokens, group) && !asks(tokens, group.last) ? stance : Stance::kNone;
}

}  // namespace cohort::choice
