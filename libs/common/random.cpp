#include "libs/common/random.h"

#include "libs/common/check.h"

namespace cohort {
namespace {

constexpr double kUnit = 0x1.0p-53;

uint32_t low_word(uint64_t bits) { return static_cast<uint32_t>(bits); }
uint32_t high_word(uint64_t bits) { return static_cast<uint32_t>(bits >> 32); }

PhiloxKey key_of(uint64_t seed) { return {low_word(seed), high_word(seed)}; }

PhiloxCounter initial_state(uint64_t num_words) { return {0, 0, low_word(num_words), high_word(num_words)}; }

PhiloxCounter absorb(PhiloxCounter state, uint64_t word, PhiloxKey key) {
  state[0] ^= low_word(word);
  state[1] ^= high_word(word);
  return philox4x32_10(state, key);
}

uint64_t output(const PhiloxCounter& state) { return uint64_t{state[1]} << 32 | state[0]; }

PhiloxCounter absorb_all(PhiloxCounter state, std::initializer_list<uint64_t> words, PhiloxKey key) {
  for (uint64_t word : words) state = absorb(state, word, key);
  return state;
}

}  // namespace

PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {high_word(product1) ^ counter[1] ^ key[0], low_word(product1),
               high_word(product0) ^ counter[3] ^ key[1], low_word(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint64_t random_bits(uint64_t seed, std::initializer_list<uint64_t> address) {
  COHORT_CHECK(address.size() > 0, "An address needs at least one word.");
  return output(absorb_all(initial_state(address.size()), address, key_of(seed)));
}

double random_unit(uint64_t seed, std::initializer_list<uint64_t> address) {
  return static_cast<double>(random_bits(seed, address) >> 11) * kUnit;
}

CounterRng::CounterRng(uint64_t seed, std::initializer_list<uint64_t> prefix)
    : key_(key_of(seed)), prefix_state_(absorb_all(initial_state(prefix.size() + 1), prefix, key_)) {}

uint64_t CounterRng::next_u64() { return output(absorb(prefix_state_, index_++, key_)); }

double CounterRng::next_unit() { return static_cast<double>(next_u64() >> 11) * kUnit; }

uint64_t CounterRng::below(uint64_t bound) {
  COHORT_CHECK(bound > 0);
  // Draws under this threshold, 2^64 mod bound, would make small results likelier.
  const uint64_t threshold = -bound % bound;
  uint64_t bits = next_u64();
  while (bits < threshold) bits = next_u64();
  return bits % bound;
}

}  // namespace cohort
