#include "cohort/text/grammar/json_numbers.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "cohort/core/error.h"
#include "cohort/text/grammar/regex.h"

namespace cohort {
namespace {

constexpr int64_t kLargest = 9'999'999'999'999'999;  // 16 digits
constexpr int64_t kLargestBound = 1'000'000'000'000'000;

/// Decimal numbers of one length from `first` to `last`, digit by digit.
class SameLength {
 public:
  SameLength(Grammar& grammar, int64_t first, int64_t last, Grammar::State to)
      : grammar_(grammar), first_(std::to_string(first)), last_(std::to_string(last)), to_(to) {}

  void add(Grammar::State from, size_t place = 0, bool is_at_first = true, bool is_at_last = true) {
    const char low = is_at_first ? first_[place] : '0', high = is_at_last ? last_[place] : '9';
    for (char digit = low; digit <= high; ++digit) {
      const bool stays_first = is_at_first && digit == low, stays_last = is_at_last && digit == high;
      const bool is_between = !stays_first && !stays_last;
      char end = digit;
      if (is_between) end = static_cast<char>(is_at_last ? high - 1 : high);
      grammar_.add_symbols(from, digit, end, state(place + 1, stays_first, stays_last));
      digit = end;
    }
  }

 private:
  Grammar::State state(size_t place, bool is_at_first, bool is_at_last) {
    if (place == first_.size()) return to_;
    const auto key = std::tuple(place, is_at_first, is_at_last);
    if (const auto found = states_.find(key); found != states_.end()) return found->second;
    const Grammar::State made = states_[key] = grammar_.add_state();
    add(made, place, is_at_first, is_at_last);
    return made;
  }

  Grammar& grammar_;
  std::string first_, last_;
  Grammar::State to_;
  std::map<std::tuple<size_t, bool, bool>, Grammar::State> states_;
};

/// The whole numbers from `first` to `last`, neither negative.
void add_natural(Grammar& grammar, Grammar::State from, int64_t first, int64_t last, Grammar::State to) {
  for (int64_t low = 0, next = 10; low <= last; low = next, next *= 10) {
    const int64_t begin = std::max(first, low), end = std::min(last, next - 1);
    if (begin <= end) SameLength(grammar, begin, end, to).add(from);
    if (next > kLargest) break;
  }
}

/// Bounds of an absolute value.
struct Size {
  int64_t least;
  bool is_more;  ///< than `least`
  int64_t most;
  bool is_less;  ///< than `most`
};

void add_size(Grammar& grammar, Grammar::State from, const Size& size, bool is_integer, Grammar::State to) {
  const int64_t first = size.least + (size.is_more ? 1 : 0), last = size.most - (size.is_less ? 1 : 0);
  if (is_integer) return add_natural(grammar, from, first, last, to);
  const auto add_with = [&](int64_t begin, int64_t end, const char* fraction) {
    if (begin > end) return;
    const Grammar::State whole = grammar.add_state();
    add_natural(grammar, from, begin, end, whole);
    add_regex(grammar, whole, fraction, to);
  };
  constexpr const char* kAny = "(\\.[0-9]{1,16})?";
  if (size.least < size.most)
    add_with(size.least, size.least, size.is_more ? "\\.0{0,14}[1-9][0-9]{0,1}" : kAny);
  add_with(size.least + 1, size.most - 1, kAny);
  if (!size.is_less && (size.least < size.most || !size.is_more))
    add_with(size.most, size.most, "(\\.0{1,16})?");
}

int64_t checked(const NumberBound& bound) {
  if (bound.value > kLargestBound || bound.value < -kLargestBound)
    throw UserError(str("the bound ", bound.value, " is beyond 10^15"));
  return bound.value;
}

}  // namespace

void add_number(Grammar& grammar, Grammar::State from, const NumberRange& range, Grammar::State to) {
  if (!range.least && !range.most) {
    constexpr const char* kInteger = "-?(0|[1-9][0-9]{0,15})";
    constexpr const char* kNumber = "-?(0|[1-9][0-9]{0,15})(\\.[0-9]{1,16})?([eE][-+]?[0-9]{1,3})?";
    return add_regex(grammar, from, range.is_integer ? kInteger : kNumber, to);
  }
  const NumberBound least = range.least.value_or(NumberBound{-kLargest});
  const NumberBound most = range.most.value_or(NumberBound{kLargest});
  if (range.least) checked(least);
  if (range.most) checked(most);
  const bool meets =
      least.value < most.value || (least.value == most.value && !least.is_exclusive && !most.is_exclusive);
  const int64_t whole_first = least.value + (least.is_exclusive ? 1 : 0);
  const int64_t whole_last = most.value - (most.is_exclusive ? 1 : 0);
  if (!meets || (range.is_integer && whole_first > whole_last))
    throw UserError("no number lies between its bounds");
  if (most.value >= 0) {
    const bool is_bound = least.value >= 0;
    add_size(grammar, from,
             {is_bound ? least.value : 0, is_bound && least.is_exclusive, most.value, most.is_exclusive},
             range.is_integer, to);
  }
  if (least.value >= 0) return;
  const Grammar::State negative = grammar.add_state();
  grammar.add_symbols(from, '-', '-', negative);
  const bool is_bound = most.value <= 0;
  add_size(grammar, negative,
           {is_bound ? -most.value : 0, !is_bound || most.is_exclusive || most.value == 0, -least.value,
            least.is_exclusive},
           range.is_integer, to);
}

}  // namespace cohort
