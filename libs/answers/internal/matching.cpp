#include "libs/answers/internal/matching.h"

#include "libs/answers/internal/structures.h"

namespace cohort::answers {
namespace {

constexpr size_t kMaxElements = 64;
constexpr size_t kNobody = kMaxElements;

class Matching {
 public:
  Matching(const std::vector<Item>& a, const std::vector<Item>& b, Work& work)
      : a_(a), b_(b), work_(work), known_(a.size() * b.size()) {}

  Verdict of_lists() {
    if (all_have_partners(Outcome::kEqual)) return equal("the same elements");
    return open_ && all_have_partners(Outcome::kUndecided) ? *open_ : unequal("an element without its like");
  }

  Verdict of_sets() {
    Verdict result = equal("the same elements");
    for (const bool is_forth : {true, false}) {
      const size_t count = is_forth ? a_.size() : b_.size();
      for (size_t element = 0; element < count; ++element) {
        const Outcome best = best_like(element, is_forth);
        if (best == Outcome::kUnequal) return unequal("an element without its like");
        if (best == Outcome::kUndecided) result = *open_;
      }
    }
    return result;
  }

 private:
  Outcome outcome(size_t i, size_t j) {
    std::optional<Outcome>& known = known_[i * b_.size() + j];
    if (!known) {
      const Verdict verdict = compare(a_[i], b_[j], work_);
      known = verdict.outcome;
      if (verdict.outcome == Outcome::kUndecided) open_ = verdict;
    }
    return *known;
  }

  Outcome best_like(size_t element, bool is_forth) {
    Outcome best = Outcome::kUnequal;
    const size_t count = is_forth ? b_.size() : a_.size();
    for (size_t i = 0; i < count && best != Outcome::kEqual; ++i) {
      const Outcome next = is_forth ? outcome(element, i) : outcome(i, element);
      if (next != Outcome::kUnequal) best = next;
    }
    return best;
  }

  // Can each element of `a` have one of `b` for itself, all pairs at least `wanted`? Kuhn's method.
  bool all_have_partners(Outcome wanted) {
    partners_.assign(b_.size(), kNobody);
    for (size_t i = 0; i < a_.size(); ++i) {
      std::vector<bool> is_asked(b_.size(), false);
      if (!find_partner(i, wanted, is_asked)) return false;
    }
    return true;
  }

  bool find_partner(size_t i, Outcome wanted, std::vector<bool>& is_asked) {
    for (const bool is_free : {true, false}) {
      for (size_t j = 0; j < b_.size(); ++j) {
        if (is_asked[j] || (partners_[j] == kNobody) != is_free) continue;
        const Outcome next = outcome(i, j);
        if (next != Outcome::kEqual && next != wanted) continue;
        is_asked[j] = true;
        if (!is_free && !find_partner(partners_[j], wanted, is_asked)) continue;
        partners_[j] = i;
        return true;
      }
    }
    return false;
  }

  const std::vector<Item>& a_;
  const std::vector<Item>& b_;
  Work& work_;
  std::vector<std::optional<Outcome>> known_;
  std::optional<Verdict> open_;  // one that stayed undecided
  std::vector<size_t> partners_;
};

}  // namespace

Verdict compare_unordered(const std::vector<Item>& a, const std::vector<Item>& b, bool are_lists,
                          Work& work) {
  if (a.size() > kMaxElements || b.size() > kMaxElements) return undecided("too many elements");
  if (are_lists && a.size() != b.size()) return unequal("different numbers of elements");
  Matching matching(a, b, work);
  return are_lists ? matching.of_lists() : matching.of_sets();
}

}  // namespace cohort::answers
