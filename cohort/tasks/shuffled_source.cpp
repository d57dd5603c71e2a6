#include "cohort/tasks/shuffled_source.h"

#include <numeric>
#include <utility>

#include "cohort/core/random.h"

namespace cohort {
namespace {

constexpr uint64_t kShuffleStream = 0x73687566;  // "shuf"

// A state that was edited by hand or cut must not look like a valid one.
int64_t read_count(const Json& state, const char* key, int64_t limit) {
  auto value = state.find(key);
  bool is_count = value != state.end() && value->is_number_integer() && *value >= 0 && *value <= limit;
  if (!is_count) {
    throw FormatError(str("state of the prompt source: \"", key, "\" must be an integer from 0 to ", limit));
  }
  return value->get<int64_t>();
}

}  // namespace

ShuffledSource::ShuffledSource(std::vector<Prompt> prompts, uint64_t seed, bool shuffles)
    : prompts_(std::move(prompts)), order_(prompts_.size()), seed_(seed), shuffles_(shuffles) {
  if (prompts_.empty()) throw ConfigError("the data set holds no prompts");
  shuffle();
}

void ShuffledSource::shuffle() {
  std::iota(order_.begin(), order_.end(), 0);
  if (!shuffles_) return;
  CounterRng rng(seed_, {kShuffleStream, static_cast<uint64_t>(epoch_)});
  for (size_t last = order_.size() - 1; last > 0; --last)
    std::swap(order_[last], order_[rng.below(last + 1)]);
}

std::vector<Prompt> ShuffledSource::next(int64_t count) {
  std::vector<Prompt> batch;
  while (static_cast<int64_t>(batch.size()) < count) {
    if (position_ == num_prompts()) {
      ++epoch_;
      position_ = 0;
      shuffle();
    }
    batch.push_back(prompts_[order_[position_++]]);
  }
  return batch;
}

double ShuffledSource::epoch() const {
  return static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(num_prompts());
}

Json ShuffledSource::save() const {
  return {{"seed", seed_}, {"num_prompts", num_prompts()}, {"epoch", epoch_}, {"position", position_}};
}

void ShuffledSource::load(const Json& state) {
  if (!state.is_object()) throw FormatError("state of the prompt source: it must be a JSON object");
  auto seed = state.find("seed");
  if (seed == state.end() || *seed != seed_) {
    throw FormatError(str("state of the prompt source: it was saved with another seed than ", seed_));
  }
  if (read_count(state, "num_prompts", INT64_MAX) != num_prompts()) {
    throw FormatError(str("state of the prompt source: it was saved with ",
                          state["num_prompts"].get<int64_t>(), " prompts, but the data set now holds ",
                          num_prompts()));
  }
  int64_t position = read_count(state, "position", num_prompts());
  epoch_ = read_count(state, "epoch", INT64_MAX);
  position_ = position;
  shuffle();
}

}  // namespace cohort
