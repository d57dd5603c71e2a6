// A frozen model with a classification head, as rewards use it: beside generation, on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/models/decoder.h"

namespace cohort {

/// The keys of rewards that are such a model.
struct ScoringKeys {
  std::string path;
  std::string dtype;
  std::string label;

  void describe(FieldVisitor& f);
};

/// What is scored of a sequence: the head's output at some of its tokens.
struct ScoredSequence {
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> completion_ids;
  std::vector<int64_t> positions;  ///< of the two together; where transformers pools when empty
};

/// The output of the head at one token: a number per label.
using LabelScores = std::vector<float>;

/// One thread at a time.
class ScoringModel {
 public:
  /// Loads `keys.path` for the reward `name`. Throws ConfigError where it is not set and FormatError for a
  /// directory that holds no such model.
  ScoringModel(const std::string& name, const ScoringKeys& keys, HeadKind head);

  /// Throws FormatError for a sequence without tokens, above the model's context or with unknown ids.
  void check(const ScoredSequence& sequence) const;

  /// For every sequence the scores at its positions. Those with the same prompt share its rows; a pass takes
  /// some `kPassRows` rows. What a sequence gets does not depend on the others.
  std::vector<std::vector<LabelScores>> score(const std::vector<ScoredSequence>& sequences) const;

  /// Weights, and the rows of one pass.
  int64_t memory_bytes() const;

  const DecoderConfig& config() const { return decoder_->config(); }

  static constexpr int64_t kPassRows = 2048;

 private:
  std::unique_ptr<Decoder> decoder_;
};

/// The label that `keys.label` names. Where it is not set, the only one, or `fallback`. Throws ConfigError
/// for a label that the head does not have and a choice that is left open.
int64_t choose_label(const std::string& name, const ScoringKeys& keys, const DecoderConfig& model,
                     std::optional<int64_t> fallback);

}  // namespace cohort
