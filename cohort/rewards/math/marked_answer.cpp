#include "cohort/rewards/math/marked_answer.h"

#include <algorithm>

#include "cohort/core/str.h"
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/math/announced_answer.h"
#include "cohort/rewards/math/equation_lines.h"
#include "cohort/rewards/math/tidy.h"

namespace cohort::math {
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

// Does a minus sign touch the box or the delimiter of its formula, with nothing in front to subtract from?
bool is_negated(std::string_view before) {
  take_suffix(before, "$") || take_suffix(before, "\\(") || take_suffix(before, "\\[");
  if (!take_suffix(before, "-") && !take_suffix(before, "−")) return false;
  return before.empty() || std::string_view(" \t\n$=({[:*").find(before.back()) != std::string_view::npos;
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

std::string signed_text(std::string_view before, std::string_view inside) {
  const std::string text = tidy(inside);
  return is_negated(before) ? str("-(", text, ")") : text;
}

}  // namespace

Finding find_boxed(std::string_view text) {
  Box box = last_box(text);
  if (box.is_open) return {std::nullopt, "an open box, of a text that was cut"};
  if (!box.inside) return {};
  std::string list;
  for (size_t i = 0; i < kMaxBoxes; ++i) {
    const std::string_view inside = *box.inside;
    std::string_view before = text.substr(0, box_begin(text, inside));
    list.insert(0, signed_text(before, inside));
    const std::string_view connector = take_connector(before);
    // Only a box that ends there is joined.
    if (connector.empty() || !before.ends_with('}')) {
      if (i == 0 && is_alternative(text.substr(0, box_begin(text, inside))))
        return {std::nullopt, "several boxes are offered"};
      break;
    }
    box = last_box(before);
    if (!box.inside || box.inside->data() + box.inside->size() + 1 != before.data() + before.size()) break;
    list.insert(0, connector);
    text = before;
  }
  return {list, ""};
}

Finding find_tagged(std::string_view text) {
  const std::optional<std::string_view> tag = last_answer(text);
  if (!tag) return {};
  if (const Finding boxed = find_boxed(*tag); !boxed.is_nothing()) return boxed;
  if (Finding announced = find_announced(*tag); !announced.is_nothing()) return announced;
  if (std::optional<std::string> equations = leading_equations(*tag)) return {std::move(equations), ""};
  return {tidy(*tag), ""};
}

}  // namespace cohort::math
