#include "libs/answers/internal/marked_answer.h"

#include <algorithm>

#include "libs/answers/comparison.h"
#include "libs/answers/internal/announced_answer.h"
#include "libs/answers/internal/box_formula.h"
#include "libs/answers/internal/doubts.h"
#include "libs/answers/internal/equation_lines.h"
#include "libs/answers/internal/parser.h"
#include "libs/answers/internal/retraction.h"
#include "libs/answers/internal/tidy.h"
#include "libs/answers/internal/word_roles.h"
#include "libs/answers/internal/words.h"
#include "libs/common/answer_marks.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"

namespace cohort::answers {
namespace {

constexpr size_t kMaxBoxes = 65;  // one more than a list may have

// Where the name of the box begins that has this inside.
size_t box_begin(std::string_view text, std::string_view inside) {
  return text.rfind('\\', static_cast<size_t>(inside.data() - text.data()) - 1);
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// The text in front without what joins this box to one before it, and the connector; empty without one.
std::string_view take_connector(std::string_view& before) {
  std::string_view rest = before, connector;
  constexpr std::string_view kDelimiters[] = {"$$", "$", "\\(", "\\)", "\\[", "\\]", "\\ ", "\\quad", "**"};
  struct Joiner {
    std::string_view text, connector;
  };
  constexpr Joiner kJoiners[] = {{"\\text{ and }", " and "},
                                 {"\\text{ or }", " or "},
                                 {" and", " and "},
                                 {" or", " or "},
                                 {",", ", "},
                                 {"&", ", "}};
  for (size_t size = 0; size != rest.size();) {
    size = rest.size();
    rest = rest.substr(0, rest.find_last_not_of(" \t\r\n") + 1);
    for (const std::string_view delimiter : kDelimiters) take_suffix(rest, delimiter);
    for (const Joiner& joiner : kJoiners) {
      const bool is_taken = take_suffix(rest, joiner.text);
      if (is_taken && (connector.empty() || connector == ", ")) connector = joiner.connector;
    }
  }
  before = rest;
  return connector;
}

// Does "or" lead from a box before, in the same sentence: "\boxed{2} or maybe"? "Or rather" corrects it.
bool is_alternative(std::string_view before) {
  constexpr size_t kMaxBytes = 60;
  const Box box = last_box(before);
  if (!box.inside) return false;
  const char* end = box.inside->data() + box.inside->size();
  const std::string_view between = before.substr(static_cast<size_t>(end - before.data()));
  if (between.size() > kMaxBytes || between.find_first_of(".!?\n") != std::string_view::npos) return false;
  const auto has = [between](std::string_view word) { return between.find(word) != std::string_view::npos; };
  return has(" or ") && !has("rather") && !has("but") && !has("not");
}

// The text behind a box and its formula, from the remark there on.
std::string_view remark_behind(std::string_view behind) {
  constexpr std::string_view kEnds[] = {"$$\n", "\\]\n", "$$", "$",   "\\)", "\\]",
                                        "}",    "**",    " ",  "\\,", "\\ "};
  for (size_t size = 0; size != behind.size();) {
    size = behind.size();
    for (const std::string_view end : kEnds) {
      if (behind.starts_with(end)) behind.remove_prefix(end.size());
    }
  }
  return behind;
}

// Why what is said behind a box makes it no answer.
std::string find_fault_behind(std::string_view behind, std::string_view inside) {
  const std::string_view remark = remark_behind(behind);
  const bool is_sentence =
      !remark.empty() && std::string_view(".!?\n").find(remark[0]) == std::string_view::npos;
  const std::vector<Sentence> sentences = is_sentence ? read_sentences(remark, 1) : std::vector<Sentence>();
  if (!sentences.empty()) {
    const std::vector<Piece>& pieces = sentences[0].pieces;
    if (std::string fault = find_change(pieces, 0); !fault.empty()) return fault;
    if (std::string fault = find_denial(pieces, 0); !fault.empty()) return fault;
    if (pieces[0].kind == Piece::Kind::kWord && word_role(pieces[0].text) == WordRole::kDoubt)
      return str("\"", pieces[0].text, "\" stands behind it");
    const bool is_or = pieces.size() > 1 && lower_case(pieces[0].text) == "or" && pieces[1].is_math();
    if (is_or && !judge(tidy(inside), pieces[1].inside).verdict.is_equal()) return "another answer follows";
  }
  return find_retraction(remark, false) != std::string_view::npos ? "the answer is taken back" : "";
}

// Why what is said in front of a box denies it.
std::string find_fault_before(std::string_view before) {
  constexpr size_t kMaxBytes = 300;
  if (before.size() > kMaxBytes) before.remove_prefix(before.size() - kMaxBytes);
  for (const std::string_view open : {"$$", "$", "\\(", "\\["}) take_suffix(before, open);
  const size_t stop = before.find_last_of(".!?\n;:");
  if (stop != std::string_view::npos) before.remove_prefix(stop + 1);
  const std::vector<Sentence> sentences = read_sentences(before, 1);
  return sentences.empty() ? std::string() : find_denial_before(sentences[0].pieces);
}

// A box with the formula that it stands in.
struct Place {
  Span box;
  std::optional<Span> formula;
};

Place find_place(std::string_view text, std::string_view inside, const std::vector<Span>& formulas) {
  Place place = {{box_begin(text, inside), static_cast<size_t>(inside.data() - text.data()) + inside.size()},
                 {}};
  if (inside.data()[-1] == '{') ++place.box.end;
  const auto formula = std::find_if(formulas.begin(), formulas.end(), [&](const Span& span) {
    return span.begin <= place.box.begin && place.box.end <= span.end;
  });
  if (formula != formulas.end()) place.formula = *formula;
  return place;
}

// Why what is said around the last box makes it no answer.
std::string find_fault_around(std::string_view text, const Place& place, const BoxFormula& found,
                              std::string_view inside) {
  const size_t begin = place.formula ? place.formula->begin : found.begin;
  const size_t end = place.formula ? place.formula->end : found.end;
  if (std::string fault = find_fault_before(text.substr(0, begin)); !fault.empty()) return fault;
  if (place.formula && !found.next_words.empty()) {
    if (std::string fault = find_fault_behind(found.next_words, inside); !fault.empty()) return fault;
  }
  return find_fault_behind(text.substr(end), inside);
}

// Is it a sentence, and not the name of one thing such as "Route 66"?
bool is_said(const Sentence& sentence) {
  constexpr size_t kMinWords = 3;
  size_t num_words = 0;
  for (const Piece& piece : sentence.pieces) {
    if (piece.kind != Piece::Kind::kWord) continue;
    const WordRole role = word_role(piece.text);
    if (role == WordRole::kFiller || role == WordRole::kCopula || role == WordRole::kTurn) return true;
    if (lower_case(piece.text) == "not") return true;  // 10, not 9
    ++num_words;
  }
  return num_words >= kMinWords;
}

// What a sentence between tags says: There are 9 apples. Nothing where the text is an answer as it stands.
Finding find_said(const std::string& text) {
  if (find_choice(text) || find_labelled_choice(text)) return {};
  const std::vector<Sentence> sentences = read_sentences(text);
  const auto has_value = [](const Sentence& sentence) {
    return sentence.has(Piece::Kind::kFormula) || sentence.has(Piece::Kind::kBare);
  };
  if (std::none_of(sentences.begin(), sentences.end(), has_value)) return {};
  const bool begins_with_value = sentences[0].pieces[0].is_math();
  ParseFailure failure;
  if ((begins_with_value || !is_prose(text)) && parse(text, failure)) return {};
  if (std::none_of(sentences.begin(), sentences.end(), is_said)) return {};
  return begins_with_value && sentences.size() == 1 ? read_stated(sentences[0]) : find_concluded(text);
}

}  // namespace

Finding find_boxed(std::string_view text) {
  Box box = last_box(text);
  if (box.is_open) return {std::nullopt, "an open box, of a text that was cut"};
  if (!box.inside) return {};
  const std::vector<Span> formulas = find_formulas(text);
  const std::string_view whole = text;
  std::string list, fault;
  for (size_t i = 0; i < kMaxBoxes; ++i) {
    const std::string_view inside = *box.inside;
    const Place place = find_place(whole, inside, formulas);
    const BoxFormula found = read_box(whole, place.box, inside, place.formula);
    if (!found.text) return {std::nullopt, "the expression around the box is cut"};
    if (i == 0) fault = find_fault_around(whole, place, found, inside);
    list.insert(0, *found.text);
    std::string_view before = text.substr(0, place.box.begin);
    const std::string_view connector = take_connector(before);
    // Only a box that ends there is joined.
    if (connector.empty() || !before.ends_with('}')) {
      if (i == 0 && fault.empty() && is_alternative(whole.substr(0, place.box.begin)))
        fault = "several boxes are offered";
      break;
    }
    box = last_box(before);
    if (!box.inside || box.inside->data() + box.inside->size() + 1 != before.data() + before.size()) break;
    list.insert(0, connector);
    text = before;
  }
  if (!fault.empty()) return {std::nullopt, fault};
  Finding found = {list};
  const bool is_foreign =
      std::any_of(list.begin(), list.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  const Finding said = is_foreign ? find_said(list) : Finding();
  if (said.text) found.others.push_back(*said.text);  // 答案是12 in a box
  return found;
}

Finding find_tagged(std::string_view text) {
  const std::optional<std::string_view> tag = last_answer(text);
  if (!tag) return {};
  if (const Finding boxed = find_boxed(*tag); !boxed.is_nothing()) return boxed;
  if (Finding announced = find_announced(*tag); !announced.is_nothing()) return announced;
  if (std::optional<std::string> equations = leading_equations(*tag)) return {std::move(equations)};
  if (std::string fault = find_fault_of(*tag); !fault.empty()) return {std::nullopt, std::move(fault)};
  const std::string whole = tidy(*tag);
  Finding said = find_said(whole);
  if (said.is_nothing()) return {whole};
  said.others.push_back(whole);  // the name "Route 66" is all of it
  return said;
}

}  // namespace cohort::answers
