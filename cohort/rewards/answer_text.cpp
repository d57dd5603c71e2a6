#include "cohort/rewards/answer_text.h"

namespace cohort {
namespace {

std::string_view behind_thinking(std::string_view text) {
  constexpr std::string_view kClose = "</think>";
  const size_t close = text.rfind(kClose);
  return close == std::string_view::npos ? text : text.substr(close + kClose.size());
}

}  // namespace

std::optional<std::string_view> last_answer(std::string_view text) {
  constexpr std::string_view kOpen = "<answer>";
  size_t close = text.rfind("</answer>");
  if (close == std::string_view::npos) return std::nullopt;
  size_t open = text.substr(0, close).rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  size_t begin = open + kOpen.size();
  return text.substr(begin, close - begin);
}

std::optional<std::string_view> last_boxed(std::string_view text) {
  constexpr std::string_view kOpen = "\\boxed{";
  size_t open = text.rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  size_t begin = open + kOpen.size();
  int64_t depth = 1;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return text.substr(begin, i - begin);
  }
  return std::nullopt;
}

StatedAnswer stated_answer(std::string_view text) {
  const std::string_view rest = behind_thinking(text);
  if (const auto answer = last_answer(rest)) return {trim(*answer), true};
  if (const auto boxed = last_boxed(rest)) return {trim(*boxed), true};
  return {trim(rest), false};
}

std::optional<std::string> column_text(const Json& fields, const std::string& column) {
  const auto value = fields.find(column);
  if (value == fields.end()) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number()) return value->dump();
  return std::nullopt;
}

std::string_view trim(std::string_view text) {
  constexpr const char* kSpace = " \t\r\n\f\v";
  size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string excerpt(std::string_view text) {
  constexpr size_t kMaxBytes = 60;
  bool is_cut = text.size() > kMaxBytes;
  // The text may be cut inside a character: what is no UTF-8 is replaced.
  std::string head =
      Json(std::string(text.substr(0, kMaxBytes))).dump(-1, ' ', true, Json::error_handler_t::replace);
  return is_cut ? head + "..." : head;
}

}  // namespace cohort
