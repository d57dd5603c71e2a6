#include "libs/answers/internal/plain_words.h"

#include <algorithm>

#include "libs/answers/internal/letters.h"
#include "libs/answers/internal/symbols.h"
#include "libs/answers/internal/units.h"
#include "libs/common/ascii.h"

namespace cohort::answers {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Is the token before a number, alone or as the minutes of 3:30?
bool follows_number(const Surroundings& place) {
  return !place.before.empty() && place.before.back().kind == TokenKind::kNumber;
}

bool follows_time(const Surroundings& place) {
  const size_t count = place.before.size();
  return follows_number(place) && count >= 3 && place.before[count - 2].text == ":";
}

bool has_variables(const std::vector<Token>& tokens) {
  return std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
    return token.kind == TokenKind::kSymbol && token.text != "pi";
  });
}

bool is_end(std::string_view behind) {
  const std::string_view rest = trim(behind);
  return rest.empty() || rest == "." || rest == "$" || rest == "}";
}

// Does a number that may be an hour stand before, and nothing of the same value behind?
bool follows_hour(const Surroundings& place, size_t length) {
  if (!follows_number(place) || place.before.back().text.size() > 2) return false;
  const std::string_view rest = trim(place.behind.substr(std::min(length, place.behind.size())));
  return rest.empty() || std::string_view(".,;)}$").find(rest[0]) != std::string_view::npos ||
         rest.starts_with("and ") || rest.starts_with("or ");
}

// am, PM, p.m. behind a time, and behind an hour where letters would hardly be multiplied.
std::optional<MeasuringWord> find_half_of_day(std::string_view run, const Surroundings& place) {
  const std::string lower = lower_case(run);
  if (lower == "am" || lower == "pm") {
    const bool is_hour = follows_hour(place, 0) && (place.has_space || lower != run);
    if (!is_hour && !follows_time(place)) return std::nullopt;
    return MeasuringWord{TokenKind::kText, lower, 0};
  }
  const bool has_dots = (lower == "a" || lower == "p") && place.behind.size() >= 2 &&
                        place.behind[0] == '.' && (place.behind[1] == 'm' || place.behind[1] == 'M');
  if (!has_dots) return std::nullopt;
  const size_t length = place.behind.substr(2, 1) == "." ? 3 : 2;
  if (!follows_time(place) && !follows_hour(place, length)) return std::nullopt;
  return MeasuringWord{TokenKind::kText, lower + "m", length};
}

// cats, ways: nothing but a noun at the very end, where letters would hardly be multiplied.
bool is_plural_noun(std::string_view run, const Surroundings& place) {
  const bool is_lower = std::all_of(run.begin(), run.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_lower && run.size() >= 4 && run.back() == 's' && place.has_space && follows_number(place) &&
         run.find_first_of("ay") != std::string_view::npos && is_end(place.behind) &&
         !has_variables(place.before);
}

// Letters that touch a number are more often variables.
constexpr std::string_view kLooseUnits[] = {"nm", "yr", "wk", "eV", "kB", "KB", "MB", "GB", "TB", "GW"};

// cat, men; but not abc.
bool is_short_word(std::string_view run) {
  constexpr std::string_view kPairs[] = {"am", "pm", "st", "nd", "rd", "th", "in",
                                         "or", "an", "as", "at", "by", "on", "up"};
  const std::string lower = lower_case(run);
  if (run.size() == 2)
    return is_wordy(run) || std::find(std::begin(kPairs), std::end(kPairs), lower) != std::end(kPairs);
  return is_wordy(run) || lower[1] == 'a' || lower == "and";
}

bool is_capital_part(std::string_view part) {
  return is_capital_name(part) || (part.size() == 1 && part[0] >= 'A' && part[0] <= 'Z');
}

}  // namespace

bool may_be_unit(const Surroundings& place) {
  if (place.before.empty() || place.is_text) return place.is_text;
  const std::string_view next = place.behind.substr(0, 1);
  // Letters that touch the number are variables where the text has others: 18km beside k^2.
  const bool is_term = !next.empty() && std::string_view("+-=*(").find(next[0]) != std::string_view::npos;
  if ((has_variables(place.before) || is_term) && !place.has_space) return false;
  const Token& last = place.before.back();
  if (last.kind == TokenKind::kNumber || last.kind == TokenKind::kText) return true;
  return place.has_space && (last.text == "}" || last.text == "pi");
}

std::optional<MeasuringWord> find_measuring_word(std::string_view run, const Surroundings& place) {
  if (auto half = find_half_of_day(run, place)) return half;
  if (auto currency = find_currency(run, place)) return currency;
  const bool is_ordinal = run == "st" || run == "nd" || run == "rd" || run == "th";
  if (is_ordinal && follows_number(place) && !place.has_space && is_digits(place.before.back().text)) {
    return MeasuringWord{};
  }
  const bool is_second = run == "sec" && follows_number(place) && (place.has_space || place.is_text) &&
                         (is_end(place.behind) || place.behind.starts_with("."));
  const bool is_square = run == "sq" && place.has_space && may_be_unit(place);
  if (is_second || is_square) {
    return MeasuringWord{TokenKind::kText, std::string(run), is_square && place.behind.starts_with(".")};
  }
  const bool is_loose =
      std::find(std::begin(kLooseUnits), std::end(kLooseUnits), run) != std::end(kLooseUnits);
  const bool is_unit = (run.size() > 1 || place.is_text) && may_be_unit(place) && is_unit_name(run) &&
                       (!is_loose || place.has_space || place.is_text);
  if (!is_unit && !is_plural_noun(run, place)) return std::nullopt;
  return MeasuringWord{TokenKind::kText, std::string(run), 0};
}

bool are_variables(std::string_view run, const Surroundings& place) {
  const bool are_letters = std::all_of(run.begin(), run.end(), [](char c) { return is_letter(c); });
  if (!are_letters || run.empty() || run.size() > 3 || is_unit_name(run)) return false;
  if (run.size() == 1) return true;
  const bool follows_value =
      !place.before.empty() &&
      (follows_number(place) || place.before.back().text == "}" || place.before.back().text == ")");
  return follows_value && !is_short_word(run) && !find_number_word(run);
}

std::optional<MeasuringWord> find_micro_unit(const Surroundings& place, bool takes_letter) {
  if (!follows_number(place)) return std::nullopt;
  struct Name {
    char letter;
    const char* unit;
  };
  constexpr Name kNames[] = {{'m', "micrometer"}, {'s', "microsecond"}, {'g', "microgram"},
                             {'l', "microliter"}, {'L', "microliter"},  {'A', "microampere"},
                             {'V', "microvolt"}};
  std::string_view rest = place.behind;
  rest.remove_prefix(std::min(rest.find_first_not_of(" ~"), rest.size()));
  const size_t wrapper = rest.starts_with("\\text{") ? 6 : rest.starts_with("\\mathrm{") ? 8 : 0;
  if (wrapper == 0 && !takes_letter) return std::nullopt;
  rest.remove_prefix(wrapper);
  rest.remove_prefix(std::min(rest.find_first_not_of(" ~"), rest.size()));
  const auto* name = std::find_if(std::begin(kNames), std::end(kNames),
                                  [rest](const Name& entry) { return rest.starts_with(entry.letter); });
  if (name == std::end(kNames) || (wrapper > 0 && rest.substr(1, 1) != "}")) return std::nullopt;
  rest.remove_prefix(wrapper > 0 ? 2 : 1);
  const bool is_ended = is_end(rest) || rest[0] == '^' || rest[0] == ',' || rest[0] == '/';
  if (!is_ended) return std::nullopt;
  return MeasuringWord{TokenKind::kText, name->unit, place.behind.size() - rest.size()};
}

std::optional<MeasuringWord> find_currency(std::string_view run, const Surroundings& place) {
  struct Name {
    std::string_view code, sign;
  };
  constexpr Name kNames[] = {{"USD", "$"},      {"Rs", "rupees"}, {"INR", "rupees"}, {"EUR", "euro"},
                             {"GBP", "pounds"}, {"JPY", "yen"},   {"CHF", "franc"},  {"CNY", "yuan"}};
  const auto* name = std::find_if(std::begin(kNames), std::end(kNames),
                                  [run](const Name& entry) { return entry.code == run; });
  if (name == std::end(kNames)) return std::nullopt;
  const size_t dot = run == "Rs" && place.behind.starts_with(".");
  const std::string_view amount = trim(place.behind.substr(dot));
  if (amount.empty() || amount[0] < '0' || amount[0] > '9') return std::nullopt;
  return MeasuringWord{TokenKind::kStructure, std::string(name->sign), dot};
}

bool ends_in_latex_space(std::string_view text) {
  return text.ends_with('~') || text.ends_with("\\ ") || text.ends_with("\\,") || text.ends_with("\\;");
}

bool is_bold_set(const Surroundings& place) {
  const std::string_view group = place.behind.substr(0, 3);
  if (group != "{R}" && group != "{Z}" && group != "{Q}" && group != "{N}") return false;
  return place.before.empty() ? trim(place.behind) == group : place.before.back().text == "in";
}

std::vector<std::string> split_text(std::string_view content) {
  for (std::string_view connector : {" and ", " or "}) {
    const size_t place = content.find(connector);
    if (place == std::string_view::npos) continue;
    const std::string_view first = trim(content.substr(0, place)),
                           second = trim(content.substr(place + connector.size()));
    if (is_capital_part(first) && is_capital_part(second))
      return {std::string(first), std::string(trim(connector)), std::string(second)};
  }
  std::string plain;
  for (char c : content) {
    if (c != '.' && !(c == ' ' && !plain.empty() && plain.back() == ' ')) plain += c;
  }
  return {std::string(trim(plain))};
}

}  // namespace cohort::answers
