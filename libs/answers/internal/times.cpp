#include "libs/answers/internal/times.h"

#include <algorithm>
#include <string>
#include <vector>

#include "libs/answers/internal/rewrite.h"

namespace cohort::answers {
namespace {

bool is_time(const Item& item) {
  return (item.is(Kind::kDivide) || item.is(Kind::kRatio)) && item.node().text.starts_with("time");
}

bool is_date(const Item& item) { return item.is(Kind::kDivide) && item.node().text == "date"; }

// The parser lets at most four digits through.
int number_of(const Item& item) { return std::stoi(item.node().text); }

struct Clock {
  int hour = 0;
  std::vector<int> rest;  // minutes, and seconds where written
  std::string half;       // am, pm or nothing
};

Clock clock_of(const Item& item) {
  Clock clock;
  clock.hour = number_of(item.child(0));
  for (size_t i = 1; i < item.size(); ++i) clock.rest.push_back(number_of(item.child(i)));
  if (item.node().text.size() > 5) clock.half = item.node().text.substr(5);
  return clock;
}

// Of 0 to 23 where the half of the day is known.
int full_hour(const Clock& clock) { return clock.hour % 12 + (clock.half == "pm" ? 12 : 0); }

bool is_same_time(const Clock& a, const Clock& b) {
  if (a.rest != b.rest) return false;
  if (a.half.empty() == b.half.empty())
    return a.half.empty() ? a.hour == b.hour : a.hour % 12 == b.hour % 12 && a.half == b.half;
  const Clock& known = a.half.empty() ? b : a;
  const Clock& open = a.half.empty() ? a : b;
  const bool has_24_hours = open.hour == 0 || open.hour > 12;
  return has_24_hours ? full_hour(known) == open.hour % 24 : known.hour % 12 == open.hour % 12;
}

bool is_on_the_hour(const Clock& clock) {
  return std::all_of(clock.rest.begin(), clock.rest.end(), [](int part) { return part == 0; });
}

// 9 against 9:00 or 9 am.
std::optional<Verdict> compare_hour(const Item& time, const Item& number) {
  if (!number.is(Kind::kNumber) || number.node().text.size() > 2) return std::nullopt;
  const bool is_whole = number.node().text.find_first_not_of("0123456789") == std::string::npos;
  const Clock clock = clock_of(time);
  if (!is_whole || !is_on_the_hour(clock)) return std::nullopt;
  return is_same_time(clock, {number_of(number), clock.rest, ""}) ? equal("the same hour")
                                                                  : unequal("different hours");
}

// part / first of either ratio, in one tree.
Verdict compare_shares(const Item& a, const Item& b, size_t part, Work& work) {
  Tree tree;
  const auto share = [&](const Item& item) {
    const NodeId above = copy_tree(*item.tree, item.child(part).id, tree);
    return tree.add(Kind::kDivide, "", {above, copy_tree(*item.tree, item.child(0).id, tree)});
  };
  try {
    const NodeId share_a = share(a), share_b = share(b);
    return compare_scalars({&tree, share_a}, {&tree, share_b}, work);
  } catch (const TreeLimit&) {
    return undecided("ratios that are too large");
  }
}

}  // namespace

std::optional<Verdict> compare_calendar(const Item& a, const Item& b) {
  if (is_time(a) && is_time(b)) {
    return is_same_time(clock_of(a), clock_of(b)) ? equal("the same time") : unequal("different times");
  }
  if (is_time(a) != is_time(b)) {
    const std::optional<Verdict> verdict = is_time(a) ? compare_hour(a, b) : compare_hour(b, a);
    if (verdict) return verdict;
  }
  const bool has_half =
      (is_time(a) && !clock_of(a).half.empty()) || (is_time(b) && !clock_of(b).half.empty());
  if (has_half) return unequal("a time and another value");
  if (!is_date(a) || !is_date(b)) return std::nullopt;
  const auto parts = [](const Item& date) {
    return std::vector<int>{number_of(date.child(0).child(0)), number_of(date.child(0).child(1)),
                            number_of(date.child(1))};
  };
  return parts(a) == parts(b) ? equal("the same date") : unequal("different dates");
}

Verdict compare_ratios(const Item& a, const Item& b, Work& work) {
  if (a.size() != b.size()) return unequal("ratios of different numbers of parts");
  Verdict result = equal("the same ratio");
  for (size_t part = 1; part < a.size(); ++part) {
    const Verdict verdict = compare_shares(a, b, part, work);
    if (verdict.is_unequal()) return verdict;
    if (!verdict.is_equal()) result = verdict;
  }
  return result;
}

}  // namespace cohort::answers
