#include "cohort/sampler/constraint.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr int64_t kMostCachedIds = int64_t{16} << 20;
constexpr int64_t kMostPositions = 100'000;

}  // namespace

ConstraintVocabulary::ConstraintVocabulary(const Tokenizer& tokenizer) : later(tokenizer, false) {
  if (tokenizer.decoder().shape().kind != TokenDecoderShape::Kind::kBytes) first.emplace(tokenizer, true);
}

Constraint::Constraint(const Grammar& grammar, std::shared_ptr<const ConstraintVocabulary> vocabulary,
                       std::vector<int32_t> stop_token_ids)
    : vocabulary_(std::move(vocabulary)),
      stop_token_ids_(std::move(stop_token_ids)),
      recognizer_(grammar, vocabulary_->later.bytes()) {
  std::ranges::sort(stop_token_ids_);
  if (allowed({}, true)->empty())
    throw UserError("the tokens of the model cannot write any text that it allows");
}

// Positions are forgotten when there are too many of them; a state knows its places, too.
void Constraint::resolve(State& state) {
  if (recognizer_.num_positions() > kMostPositions) {
    recognizer_.forget();
    masks_.clear();
    num_cached_ids_ = 0;
    ++epoch_;
  }
  if (state.epoch == epoch_) return;
  set(state, state.places == nullptr ? recognizer_.begin() : recognizer_.find(*state.places));
}

void Constraint::set(State& state, Recognizer::Position position) {
  state.position = position;
  state.epoch = epoch_;
  state.places = recognizer_.places(position);
}

KeptIds Constraint::allowed(State state, bool may_stop) {
  const std::lock_guard lock(mutex_);
  resolve(state);
  const Mask& found = mask(state);
  return may_stop || found.ids->empty() ? found.with_stops : found.ids;
}

void Constraint::advance(State& state, int32_t id) {
  const std::lock_guard lock(mutex_);
  resolve(state);
  const TokenSymbols& symbols = vocabulary_->of(state.is_first);
  state.is_first = false;
  if (std::ranges::binary_search(stop_token_ids_, id)) return;
  Recognizer::Position position = state.position;
  const std::string& text = symbols.text(id);
  if (text.empty()) position = recognizer_.next(position, kFirstSpecial + id);
  for (size_t i = 0; i < text.size() && position != Recognizer::kDead; ++i)
    position = recognizer_.next(position, static_cast<unsigned char>(text[i]));
  COHORT_CHECK(position != Recognizer::kDead, "token ", id, " is not allowed here");
  set(state, position);
}

bool Constraint::is_over(State& state) {
  const std::lock_guard lock(mutex_);
  resolve(state);
  return !recognizer_.may_continue(state.position);
}

const Constraint::Mask& Constraint::mask(const State& state) {
  const int64_t key = int64_t{state.position} * 2 + (state.is_first ? 1 : 0);
  if (const auto known = masks_.find(key); known != masks_.end()) return known->second;
  if (num_cached_ids_ > kMostCachedIds) {
    masks_.clear();
    num_cached_ids_ = 0;
  }
  const TokenSymbols& symbols = vocabulary_->of(state.is_first);
  std::vector<int32_t> ids = recognizer_.special_ids(state.position);
  symbols.for_each_accepted(
      state.position, [&](int32_t position, Symbol byte) { return recognizer_.next(position, byte); },
      [&](int32_t id) { ids.push_back(id); });
  std::erase_if(ids, [&](int32_t id) { return std::ranges::binary_search(stop_token_ids_, id); });
  std::ranges::sort(ids);
  Mask made{std::make_shared<const std::vector<int32_t>>(ids), nullptr};
  made.with_stops = made.ids;
  if (recognizer_.may_end(state.position) && !stop_token_ids_.empty()) {
    ids.insert(ids.end(), stop_token_ids_.begin(), stop_token_ids_.end());
    std::ranges::sort(ids);
    made.with_stops = std::make_shared<const std::vector<int32_t>>(std::move(ids));
  }
  num_cached_ids_ += std::ssize(*made.ids) + std::ssize(*made.with_stops);
  return masks_[key] = std::move(made);
}

}  // namespace cohort
