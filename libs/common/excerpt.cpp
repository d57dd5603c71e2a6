#include "libs/common/excerpt.h"

#include "libs/common/json_value.h"

namespace cohort {

std::string excerpt(std::string_view text, size_t max_bytes) {
  const bool is_cut = text.size() > max_bytes;
  // The text may be cut inside a character: what is no UTF-8 is replaced.
  const std::string head =
      Json(std::string(text.substr(0, max_bytes))).dump(-1, ' ', true, Json::error_handler_t::replace);
  return is_cut ? head + "..." : head;
}

std::string shown(std::string_view text) {
  constexpr size_t kMaxBytes = 400;
  return excerpt(text, kMaxBytes);
}

}  // namespace cohort
