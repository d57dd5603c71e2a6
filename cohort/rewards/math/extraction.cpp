#include "cohort/rewards/math/extraction.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/nearest.h"
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/math/announced_answer.h"
#include "cohort/rewards/math/marked_answer.h"
#include "cohort/rewards/math/tidy.h"

namespace cohort::math {
namespace {

bool is_marked(AnswerPlace place) { return place == AnswerPlace::kTag || place == AnswerPlace::kBoxed; }

Finding find_at(AnswerPlace place, std::string_view text) {
  switch (place) {
    case AnswerPlace::kTag:
      return find_tagged(text);
    case AnswerPlace::kBoxed:
      return find_boxed(text);
    case AnswerPlace::kPhrase:
      return find_announced(text);
    case AnswerPlace::kExpression:
      break;
  }
  return find_concluded(text);
}

Finding find_in(std::string_view text, const std::vector<AnswerPlace>& places) {
  const bool is_cut = last_box(text).is_open;
  for (AnswerPlace place : places) {
    if (is_cut && place != AnswerPlace::kTag) continue;
    Finding found = find_at(place, text);
    if (!found.is_nothing()) return found;
  }
  return {std::nullopt, is_cut ? "an open box, of a text that was cut" : ""};
}

}  // namespace

const std::vector<AnswerPlace>& default_places() {
  static const std::vector<AnswerPlace> places = {AnswerPlace::kTag, AnswerPlace::kBoxed,
                                                  AnswerPlace::kPhrase, AnswerPlace::kExpression};
  return places;
}

std::vector<AnswerPlace> read_places(const std::vector<std::string>& names) {
  const std::vector<std::string> known = {"tag", "boxed", "phrase", "expression"};
  std::vector<AnswerPlace> places;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      throw ConfigError(str("reward.answer_places: unknown place \"", name, "\"; did you mean \"",
                            nearest_name(name, known), "\"?"));
    }
    places.push_back(static_cast<AnswerPlace>(found - known.begin()));
  }
  return places.empty() ? default_places() : places;
}

Finding find_answer(std::string_view completion, const std::vector<AnswerPlace>& places) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  const size_t close = completion.rfind(kClose);
  const bool is_thinking =
      close == std::string_view::npos && completion.find(kOpen) != std::string_view::npos;
  const size_t begin = close == std::string_view::npos ? 0 : close + kClose.size();
  if (!is_thinking) {
    Finding found = find_in(completion.substr(begin), places);
    if (!found.is_nothing() || begin == 0) return found;
  }
  std::vector<AnswerPlace> marked;
  std::copy_if(places.begin(), places.end(), std::back_inserter(marked), is_marked);
  return find_in(completion, marked);
}

std::string find_gold_answer(std::string_view text) {
  const Finding marked = find_in(text, {AnswerPlace::kTag, AnswerPlace::kBoxed});
  if (marked.text) return *marked.text;
  const size_t marker = text.rfind("####");
  return tidy(marker == std::string_view::npos ? text : text.substr(marker + 4));
}

}  // namespace cohort::math
