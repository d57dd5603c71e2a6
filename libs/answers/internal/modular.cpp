#include "libs/answers/internal/modular.h"

#include <flint/ulong_extras.h>

#include <vector>

#include "libs/answers/internal/exact.h"
#include "libs/answers/internal/letters.h"
#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort::answers {
namespace {

constexpr int kBitsOfPoint = 8;
constexpr uint64_t kSeed = 0x6d6f64;

// More primes than the digits of one answer could name.
std::vector<uint64_t> draw_primes() {
  constexpr uint64_t kNumPrimes = 256;
  constexpr uint64_t kSmallest = uint64_t{1} << 60;
  std::vector<uint64_t> primes;
  primes.reserve(kNumPrimes);
  for (uint64_t i = 0; i < kNumPrimes; ++i)
    primes.push_back(n_nextprime(kSmallest + random_bits(kSeed, {i}) % (kSmallest - (1 << 20)), 1));
  return primes;
}

uint64_t prime_of(Point point) {
  static const std::vector<uint64_t> primes = draw_primes();
  const uint64_t seed = point >> kBitsOfPoint, parity = point % 2;
  return primes[random_bits(kSeed, {seed, parity}) % primes.size()];
}

uint64_t times_modulo(uint64_t a, uint64_t b, uint64_t prime) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % prime);
}

class Evaluator {
 public:
  Evaluator(const Tree& tree, const Reading& reading, Point point)
      : tree_(tree), reading_(reading), point_(point), prime_(prime_of(point)) {}

  std::optional<uint64_t> evaluate(NodeId id) {
    const Node& node = tree_[id];
    switch (node.kind) {
      case Kind::kCall:
        if (is_unknown_function(node.text)) return unknown_function(node);
        [[fallthrough]];
      case Kind::kNumber:
      case Kind::kUnit:
        return residue(evaluate_exactly(tree_, id, reading_));
      case Kind::kSymbol:
        return symbol(node.text);
      case Kind::kAdd:
        return fold(node, [this](uint64_t a, uint64_t b) { return (a + b) % prime_; });
      case Kind::kMultiply:
        return fold(node, [this](uint64_t a, uint64_t b) { return times(a, b); });
      case Kind::kNegate: {
        const std::optional<uint64_t> value = evaluate(node.children[0]);
        if (!value) return std::nullopt;
        return (prime_ - *value) % prime_;
      }
      case Kind::kDivide:
        return divide(evaluate(node.children[0]), evaluate(node.children[1]));
      case Kind::kPower:
        return raise(id);
      default:
        return std::nullopt;
    }
  }

 private:
  uint64_t times(uint64_t a, uint64_t b) const { return times_modulo(a, b, prime_); }

  uint64_t power(uint64_t base, uint64_t exponent) const {
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1) result = times(result, base);
      base = times(base, base);
    }
    return result;
  }

  std::optional<uint64_t> divide(std::optional<uint64_t> a, std::optional<uint64_t> b) const {
    if (!a || !b || *b == 0) return std::nullopt;
    return times(*a, power(*b, prime_ - 2));
  }

  std::optional<uint64_t> residue(const ExactValue& value) const {
    if (!value.is_ok()) return std::nullopt;
    return divide(fmpz_fdiv_ui(fmpq_numref(value.value.get()), prime_),
                  fmpz_fdiv_ui(fmpq_denref(value.value.get()), prime_));
  }

  std::optional<uint64_t> symbol(const std::string& name) const {
    if (name == "i" || name == "infinity" || name == "reals" || name == "empty set") return std::nullopt;
    return random_bits(kSeed, {fnv1a(name), point_}) % prime_;
  }

  // Any value that the arguments alone decide.
  std::optional<uint64_t> unknown_function(const Node& node) {
    uint64_t key = fnv1a(node.text);
    for (NodeId child : node.children) {
      const std::optional<uint64_t> argument = evaluate(child);
      if (!argument) return std::nullopt;
      key = random_bits(kSeed, {key, *argument});
    }
    return random_bits(kSeed, {key, point_}) % prime_;
  }

  template <typename Operation>
  std::optional<uint64_t> fold(const Node& node, Operation operation) {
    std::optional<uint64_t> result = evaluate(node.children[0]);
    for (size_t i = 1; i < node.children.size() && result; ++i) {
      const std::optional<uint64_t> next = evaluate(node.children[i]);
      if (!next) return std::nullopt;
      result = operation(*result, *next);
    }
    return result;
  }

  // An integer exponent of any size, by Fermat's little theorem; 8^(2/3) may be rational as a whole.
  std::optional<uint64_t> raise(NodeId id) {
    const ExactValue exponent = evaluate_exactly(tree_, tree_.child(id, 1), reading_);
    if (!exponent.is_ok() || !exponent.value.is_integer())
      return residue(evaluate_exactly(tree_, id, reading_));
    const std::optional<uint64_t> base = evaluate(tree_.child(id, 0));
    if (!base || *base == 0) return std::nullopt;
    return power(*base, fmpz_fdiv_ui(fmpq_numref(exponent.value.get()), prime_ - 1));
  }

  const Tree& tree_;
  const Reading& reading_;
  Point point_;
  uint64_t prime_;
};

}  // namespace

Point seeded(Point point, uint64_t seed) { return seed << kBitsOfPoint | point; }

uint64_t subtract_modulo(uint64_t a, uint64_t b, Point point) {
  const uint64_t prime = prime_of(point);
  return (a + prime - b) % prime;
}

uint64_t multiply_modulo(uint64_t a, uint64_t b, Point point) { return times_modulo(a, b, prime_of(point)); }

std::optional<uint64_t> evaluate_modulo(const Tree& tree, NodeId id, const Reading& reading, Point point) {
  return Evaluator(tree, reading, point).evaluate(id);
}

}  // namespace cohort::answers
