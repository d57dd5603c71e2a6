#include "libs/answers/internal/statement.h"

#include <algorithm>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/doubts.h"
#include "libs/answers/internal/number_names.h"
#include "libs/answers/internal/plain_text.h"
#include "libs/answers/internal/units.h"
#include "libs/answers/internal/value_group.h"
#include "libs/answers/internal/word_roles.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

using Pieces = std::vector<Piece>;

Finding refuse(std::string reason) { return {std::nullopt, std::move(reason)}; }

Finding accept(const ValueGroup& group) {
  if (group.is_cut) return refuse("the expression is cut");
  return {group.text};
}

WordRole role_of(const Piece& piece) {
  if (piece.kind == Piece::Kind::kWord) return word_role(piece.text);
  return piece.is_mark('=') ? WordRole::kCopula : WordRole::kOther;
}

bool is_relation(std::string_view text) {
  for (const std::string_view sign : {"=", "<", ">", "\\in", "\\ne", "\\le", "\\ge", "≤", "≥", "≠", "∈"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

// Signs that join values, of which one side is missing.
bool is_cutting(const Piece& piece) {
  return std::string_view("/^<>+=").find(piece.text[0]) != std::string_view::npos;
}

// The comma or bracket before a remark.
bool is_aside(const Pieces& pieces, size_t position) {
  return pieces[position].is_mark(',') || pieces[position].is_mark('(');
}

const char* behind(const Piece& piece) { return piece.text.data() + piece.text.size(); }

// What was read so far of the words before a value.
struct Lead {
  bool is_known = true;  // all words change nothing
  bool is_negated = false, is_hedged = false, combines = false;

  void read(const Pieces& pieces, size_t position) {
    const Piece& piece = pieces[position];
    switch (role_of(piece)) {
      case WordRole::kCopula:
        if (!is_negated) *this = {};
        return;
      case WordRole::kTurn:
        if (is_exclusion(pieces, position)) {
          is_hedged = true;
          return;
        }
        *this = {};
        return;
      case WordRole::kRestates:
        *this = {};
        return;
      case WordRole::kNegation:
        is_negated = true;
        return;
      case WordRole::kHedge:
      case WordRole::kDoubt:
        is_hedged = true;
        return;
      case WordRole::kCombines:
        combines = true;
        return;
      case WordRole::kFiller:
        return;
      default:
        break;
    }
    if (piece.is_mark(':') && !is_negated) *this = {};
    // US$ and R$ in front of an amount.
    const bool is_currency = position + 1 < pieces.size() && pieces[position + 1].text.starts_with('$') &&
                             behind(piece) == pieces[position + 1].text.data();
    const bool is_harmless = is_currency || piece.is_mark(',') || piece.is_mark(':') || piece.is_mark('$');
    if (!is_harmless) is_known = false;
  }
};

// The first value that is not denied and is no name of what another is said to be: "$x$ is $5$".
struct Start {
  size_t position = 0;
  Lead lead;
};

bool is_name(const Pieces& pieces, size_t position) {
  return position + 1 < pieces.size() && role_of(pieces[position + 1]) == WordRole::kCopula &&
         std::any_of(pieces.begin() + position + 2, pieces.end(),
                     [](const Piece& piece) { return piece.is_math(); });
}

std::optional<Start> find_start(const Pieces& pieces) {
  Start start;
  std::optional<Start> denied;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!pieces[i].is_math()) {
      start.lead.read(pieces, i);
      continue;
    }
    start.position = i;
    if (start.lead.is_negated) {
      denied = start;
    } else if (!is_name(pieces, i)) {
      return start;
    }
  }
  return denied;
}

bool is_cjk(const Piece& piece) {
  size_t next = 0;
  return piece.kind == Piece::Kind::kWord && static_cast<unsigned char>(piece.text[0]) >= 0x80 &&
         neighbor_at(piece.text, next) == Neighbor::kCjk;
}

// What counts and says what is counted stands between a value and a word that denies it: 12個ではない.
size_t skip_counted(const Pieces& pieces, size_t position) {
  constexpr size_t kMaxWords = 10;
  const size_t stop = std::min(pieces.size(), position + kMaxWords);
  size_t end = position;
  while (end < stop && is_cjk(pieces[end]) &&
         (role_of(pieces[end]) == WordRole::kOther || role_of(pieces[end]) == WordRole::kFiller ||
          role_of(pieces[end]) == WordRole::kCopula))
    ++end;
  return end < pieces.size() && is_cjk(pieces[end]) && !starts_remark(pieces[end].text) ? end : position;
}

// Why what stands right behind a value makes it no answer: "12 less", "12 is wrong", "$5$i".
std::string find_fault_next(const Pieces& pieces, size_t end) {
  end = skip_counted(pieces, end);
  if (end >= pieces.size()) return {};
  const Piece& next = pieces[end];
  const bool touches = next.text.data() == behind(pieces[end - 1]);
  if (touches && (next.is_math() || (next.kind == Piece::Kind::kWord && next.text.size() == 1))) {
    return "the expression is cut";
  }
  if (touches && next.kind == Piece::Kind::kMark && is_cutting(next)) return "the expression is cut";
  const WordRole role = role_of(next);
  const bool is_denial =
      role == WordRole::kNegation && !next.text.starts_with('n');  // isn't, and not "not 13"
  if (role == WordRole::kHedge || role == WordRole::kDoubt || is_denial ||
      (role == WordRole::kJoiner && !joins_all(next.text))) {
    return str("\"", next.text, "\" stands behind it");
  }
  if (std::string fault = find_change(pieces, end); !fault.empty()) return fault;
  return find_denial(pieces, end);
}

bool is_word_of(const Piece& piece, std::initializer_list<std::string_view> words) {
  return piece.kind == Piece::Kind::kWord && std::find(words.begin(), words.end(), piece.text) != words.end();
}

// "could also be" and "might be" before another value, or "also" and a final "too": which might be 13.
bool offers_in_remark(const Pieces& pieces, size_t begin, const std::string& value) {
  constexpr size_t kMaxPieces = 40;
  const size_t end = std::min(pieces.size(), begin + kMaxPieces);
  const bool is_reason = is_word_of(pieces[begin], {"because", "since"});
  bool has_other = false, may = false, is_addition = false;
  for (size_t i = begin; i < end && !is_reason; ++i) {
    if (pieces[i].is_math()) {
      const bool is_said = is_word_of(pieces[i - 1], {"be"}) && may;
      const bool is_other = !judge(value, pieces[i].inside).verdict.is_equal();
      if (is_said && is_other) return true;
      has_other = has_other || is_other;
    }
    may = may || is_word_of(pieces[i], {"could", "might", "may"});
    const bool is_last = i + 1 == pieces.size() || pieces[i + 1].kind == Piece::Kind::kMark;
    is_addition = is_addition || (is_last && is_word_of(pieces[i], {"too", "also"})) ||
                  is_word_of(pieces[i], {"works", "possible"});
  }
  return has_other && is_addition;
}

// Why what follows a value makes it no answer; empty where it does not.
std::string find_fault_behind(const Pieces& pieces, const ValueGroup& group) {
  const size_t begin = group.end;
  if (std::string fault = find_fault_next(pieces, begin); !fault.empty()) return fault;
  bool is_remark = false, is_condition = false;
  for (size_t i = begin; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.is_math() && !is_remark && !(is_condition && is_relation(piece.inside))) {
      return str("another value, ", piece.text, ", stands beside it");
    }
    if (piece.kind == Piece::Kind::kMark && is_cutting(piece)) return "the expression is cut";
    if (std::string fault = is_aside(pieces, i) ? find_denial(pieces, i) : ""; !fault.empty()) return fault;
    if (piece.kind != Piece::Kind::kWord) continue;
    const WordRole role = word_role(piece.text);
    const bool may_bound = !is_remark && is_word_of(piece, {"at", "or", "as"});
    if (std::string fault = may_bound ? find_change(pieces, i) : ""; !fault.empty()) return fault;
    if (!is_remark && (role == WordRole::kDoubt || (role == WordRole::kJoiner && !joins_all(piece.text)))) {
      return str("\"", piece.text, "\" stands behind it");
    }
    is_condition = is_condition || role == WordRole::kCondition;
    const bool is_start = starts_remark(piece.text) || (role == WordRole::kNegation && piece.text != "no") ||
                          role == WordRole::kRestates || (role == WordRole::kTurn && piece.text != "but");
    if (is_start && !is_remark && offers_in_remark(pieces, i, group.text)) return "another value is offered";
    is_remark = is_remark || is_start;
  }
  return {};
}

// One hundred 5, five and 1/2: a number in words before the value belongs to it.
bool follows_number_name(const Pieces& pieces, size_t begin) {
  size_t position = begin;
  if (position > 1 && pieces[position - 1].kind == Piece::Kind::kWord && joins_all(pieces[position - 1].text))
    --position;
  const std::string word = position > 0 ? word_at(pieces, position - 1) : std::string();
  return !word.empty() && (read_number_name(word) || find_number_word(word));
}

// Why what stands before the group makes it no answer.
std::string find_fault_before(const Pieces& pieces, const ValueGroup& group) {
  const char* const several = "several values are offered";
  if (follows_number_name(pieces, group.begin)) return "the expression is cut";
  bool is_in_clause = true, is_belief = true, is_alternative = false;
  for (size_t i = group.begin; i-- > 0;) {
    const Piece& piece = pieces[i];
    if (piece.is_math()) return is_alternative ? several : "";
    if (i + 1 == group.begin && piece.kind == Piece::Kind::kMark &&
        behind(piece) == pieces[group.begin].text.data() && piece.text[0] != '=' && is_cutting(piece)) {
      return "the expression is cut";
    }
    const WordRole role = role_of(piece);
    if (is_exclusion(pieces, i)) return str("\"", piece.text, "\" stands before it");
    if (is_in_clause && piece.text == "instead" && word_at(pieces, i + 1) == "of")
      return str("\"", piece.text, "\" stands before it");
    if (piece.is_mark(';') || piece.is_mark(':') || role == WordRole::kTurn) return {};
    is_alternative = is_alternative || (role == WordRole::kJoiner && !joins_all(piece.text));
    if (i == 0 && (piece.text == "or" || piece.text == "Or")) return several;
    if (piece.is_mark(',')) is_belief = is_in_clause = false;
    if (is_belief && role == WordRole::kNegation && is_believing(pieces[i + 1].text)) return "it is denied";
    // Romance and Slavic languages deny before the verb: no es 12.
    const bool is_first_copula = is_in_clause && role == WordRole::kCopula;
    if (is_first_copula && i > 0 &&
        (role_of(pieces[i - 1]) == WordRole::kNegation || denies_verb(pieces, i - 1)))
      return str("\"", pieces[i - 1].text, "\" stands before it");
    is_in_clause = is_in_clause && role != WordRole::kCopula;
    if (is_belief && leaves_open(pieces, i)) return str("\"", piece.text, "\" stands before it");
    const bool is_denial = (role == WordRole::kNegation && !is_harmless_behind_not(pieces[i + 1].text)) ||
                           denies_verb(pieces, i);
    const bool changes = is_denial || role == WordRole::kHedge || role == WordRole::kDoubt ||
                         (role == WordRole::kCombines && group.num_values > 1);
    if (is_in_clause && changes) return str("\"", piece.text, "\" stands before it");
  }
  return {};
}

// 9 apples if it rains; but not an aside: "9, if I am right".
bool is_conditional(const Pieces& pieces, size_t begin) {
  for (size_t i = begin; i < pieces.size() && pieces[i].kind != Piece::Kind::kMark; ++i) {
    if (is_one_of(word_at(pieces, i), {"if", "unless", "provided", "wenn", "falls", "sofern", "если"}))
      return true;
    if (starts_remark(pieces[i].text)) return false;
  }
  return false;
}

// In 2020, 50 people came.
bool is_year(const Pieces& pieces, size_t position) {
  const std::string_view text = pieces[position].text;
  return position > 0 && word_at(pieces, position - 1) == "in" && text.size() == 4 &&
         text.find_first_not_of("0123456789") == std::string_view::npos &&
         (text[0] == '1' || text[0] == '2') && position + 2 < pieces.size() &&
         pieces[position + 1].is_mark(',');
}

// The pieces up to "because" or "since" behind a value.
Pieces without_reason(const Pieces& pieces) {
  bool has_value = false;
  for (size_t i = 0; i < pieces.size(); ++i) {
    has_value = has_value || pieces[i].is_math();
    if (has_value && (pieces[i].text == "because" || pieces[i].text == "since")) {
      return Pieces(pieces.begin(), pieces.begin() + i);
    }
  }
  return pieces;
}

}  // namespace

std::vector<std::string> Finding::readings() const {
  std::vector<std::string> all = others;
  if (text) all.insert(all.begin(), *text);
  return all;
}

Finding read_stated(const Sentence& sentence) {
  const Pieces& pieces = sentence.pieces;
  const std::optional<Start> start = find_start(pieces);
  if (!start) return {};
  const Lead& lead = start->lead;
  if (lead.is_negated) return refuse("a value is denied, and none named");
  if (lead.is_hedged || !lead.is_known) return refuse("the words before a value may change it");
  const ValueGroup group = take_group(pieces, start->position, true);
  if (lead.combines && group.num_values > 1) return refuse("several values are combined");
  const std::string fault = find_fault_behind(pieces, group);
  return fault.empty() ? accept(group) : refuse(fault);
}

Finding read_concluding(const Sentence& sentence, bool is_formula) {
  const Pieces pieces = without_reason(sentence.pieces);
  std::optional<ValueGroup> last, previous, before;
  for (size_t i = 0; i < pieces.size();) {
    if (!pieces[i].is_math() || is_year(pieces, i)) {
      ++i;
      continue;
    }
    ValueGroup group = take_group(pieces, i, false);
    group.is_cut = group.is_cut || (previous && previous->is_cut && previous->end == group.begin &&
                                    are_side_by_side(pieces, group.begin - 1));
    i = group.end;
    const bool is_said =
        last && group.begin == last->end + 1 && role_of(pieces[last->end]) == WordRole::kCopula;
    if (!is_formula || group.has_formula || is_said) {
      last = group;
      before = previous;
    }
    previous = std::move(group);
  }
  if (!last) return {};
  if (std::string fault = find_fault_before(pieces, *last); !fault.empty()) return refuse(std::move(fault));
  if (before && is_range(pieces, *before, *last)) return refuse("a range or a ratio in words");
  if (std::string fault = find_fault_next(pieces, last->end); !fault.empty()) return refuse(std::move(fault));
  if (is_conditional(pieces, last->end)) return refuse("a condition stands behind it");
  return accept(*last);
}

}  // namespace cohort::answers
