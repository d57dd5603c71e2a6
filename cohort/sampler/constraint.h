// The tokens that a completion may have next, so that its text is one of a language.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cohort/rl/types.h"
#include "cohort/sampler/token_symbols.h"
#include "cohort/text/grammar/recognizer.h"

namespace cohort {

/// What constraints of one model share. Immutable.
struct ConstraintVocabulary {
  /// Throws as TokenSymbols does.
  explicit ConstraintVocabulary(const Tokenizer& tokenizer);

  const TokenSymbols& of(bool is_first) const { return is_first && first ? *first : later; }

  TokenSymbols later;
  std::optional<TokenSymbols> first{};  ///< if a completion's first token may have another text
};

/// Any number of threads may use one object. Log-probabilities are over the ids that it allows, and the loss
/// takes the same set.
class Constraint {
 public:
  /// Where a turn stands. Only its own constraint reads it.
  struct State {
    Recognizer::Position position = 0;
    int64_t epoch = -1;  ///< before the first token, if -1
    std::shared_ptr<const Recognizer::Places> places{};
    bool is_first = true;  ///< no token of the completion is drawn yet
  };

  /// `stop_token_ids` may come where a text may end. Throws UserError as Recognizer does.
  Constraint(const Grammar& grammar, std::shared_ptr<const ConstraintVocabulary> vocabulary,
             std::vector<int32_t> stop_token_ids);

  /// The ids that may be drawn, ascending and never empty unless the text is over and there are no stop
  /// tokens. Without `may_stop`, stop tokens are among them only if nothing else is.
  KeptIds allowed(State state, bool may_stop);

  /// Moves past a token.
  void advance(State& state, int32_t id);

  /// Whether the text may not go on, so that a completion without stop tokens ends.
  bool is_over(State& state);

 private:
  struct Mask {
    KeptIds ids;  ///< without stop tokens
    KeptIds with_stops;
  };

  void resolve(State& state);
  void set(State& state, Recognizer::Position position);
  const Mask& mask(const State& state);

  std::shared_ptr<const ConstraintVocabulary> vocabulary_;
  std::vector<int32_t> stop_token_ids_;
  std::mutex mutex_;  // of all below
  Recognizer recognizer_;
  std::unordered_map<int64_t, Mask> masks_;  // by position, and whether the token is the first
  int64_t num_cached_ids_ = 0;
  int64_t epoch_ = 0;  // how often the recognizer has forgotten
};

}  // namespace cohort
