#include "libs/answers/internal/abstract_sets.h"

#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort::answers {
namespace {

constexpr uint64_t kSeed = 0x73657473;

bool is_joined(const Item& item) {
  return item.is(Kind::kUnion) || item.is(Kind::kIntersection) || item.is(Kind::kDifference);
}

// Every letter is a random set of 64 points; nothing for what is no letter. An identity of sets holds for
// each point alone, so that one of a few letters that fails does so for some point.
std::optional<uint64_t> points_of(const Item& item, uint64_t round) {
  if (item.is(Kind::kSymbol)) {
    const std::string& name = item.node().text;
    if (name == "empty set") return uint64_t{0};
    const bool is_letter = name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z';
    if (!is_letter) return std::nullopt;
    return random_bits(kSeed, {fnv1a(name), round});
  }
  if (!is_joined(item)) return std::nullopt;
  const std::optional<uint64_t> left = points_of(item.child(0), round),
                                right = points_of(item.child(1), round);
  if (!left || !right) return std::nullopt;
  if (item.is(Kind::kUnion)) return *left | *right;
  return item.is(Kind::kIntersection) ? *left & *right : *left & ~*right;
}

}  // namespace

std::optional<Verdict> compare_abstract_sets(const Item& a, const Item& b) {
  constexpr uint64_t kNumRounds = 16;
  if (!is_joined(a) && !is_joined(b)) return std::nullopt;
  for (uint64_t round = 0; round < kNumRounds; ++round) {
    const std::optional<uint64_t> points_a = points_of(a, round), points_b = points_of(b, round);
    if (!points_a || !points_b) return std::nullopt;
    if (*points_a != *points_b) return unequal("sets that differ for some choice of the letters");
  }
  return equal("the same set for any choice of the letters");
}

}  // namespace cohort::answers
