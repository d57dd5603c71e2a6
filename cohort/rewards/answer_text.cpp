#include "cohort/rewards/answer_text.h"

#include "cohort/core/json.h"

namespace cohort {

std::optional<std::string_view> last_answer(std::string_view text) {
  constexpr std::string_view kOpen = "<answer>";
  size_t close = text.rfind("</answer>");
  if (close == std::string_view::npos) return std::nullopt;
  size_t open = text.substr(0, close).rfind(kOpen);
  if (open == std::string_view::npos) return std::nullopt;
  size_t begin = open + kOpen.size();
  return text.substr(begin, close - begin);
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
