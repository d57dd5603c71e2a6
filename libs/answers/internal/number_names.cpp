#include "libs/answers/internal/number_names.h"

#include <algorithm>
#include <iterator>

namespace cohort::answers {
namespace {

constexpr std::string_view kSmall[] = {"zero",    "one",     "two",       "three",    "four",
                                       "five",    "six",     "seven",     "eight",    "nine",
                                       "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                       "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::string_view kTens[] = {"twenty", "thirty",  "forty",  "fifty",
                                      "sixty",  "seventy", "eighty", "ninety"};

struct Scale {
  std::string_view name;
  int64_t value;
};
constexpr Scale kScales[] = {{"thousand", 1000}, {"million", 1000000}};

template <size_t kSize>
std::optional<int64_t> find_place(const std::string_view (&names)[kSize], std::string_view word) {
  const auto found = std::find(std::begin(names), std::end(names), word);
  if (found == std::end(names)) return std::nullopt;
  return found - std::begin(names);
}

// The number that grows word by word.
class Reader {
 public:
  // False where the word cannot follow those before.
  bool take(std::string_view word) {
    if (const auto small = find_place(kSmall, word)) {
      const bool fits =
          is_empty_ || part_ % 100 == 0 || (part_ % 10 == 0 && part_ % 100 >= 20 && *small < 10);
      return fits && (*small > 0 || is_empty_) && add(*small);
    }
    if (const auto tens = find_place(kTens, word)) return part_ % 100 == 0 && add(10 * (*tens + 2));
    if (word == "hundred") return part_ > 0 && part_ < 10 && add(99 * part_);
    for (const Scale& scale : kScales) {
      if (word != scale.name) continue;
      if (part_ == 0 || last_scale_ <= scale.value) return false;
      total_ += part_ * scale.value;
      last_scale_ = scale.value;
      part_ = 0;
      return true;
    }
    return false;
  }

  int64_t value() const { return total_ + part_; }

 private:
  bool add(int64_t value) {
    part_ += value;
    is_empty_ = false;
    return true;
  }

  int64_t total_ = 0, part_ = 0, last_scale_ = INT64_MAX;
  bool is_empty_ = true;
};

}  // namespace

std::optional<int64_t> read_number_name(std::string_view words) {
  Reader reader;
  bool has_number = false;
  while (!words.empty()) {
    const size_t end = std::min(words.find_first_of(" -"), words.size());
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (word == "and" && has_number && !words.empty()) continue;
    if (!reader.take(word)) return std::nullopt;
    has_number = true;
  }
  return has_number ? std::optional<int64_t>(reader.value()) : std::nullopt;
}

}  // namespace cohort::answers
