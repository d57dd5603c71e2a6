// Replay: a step of a finished or running run, read back from its batch and its checkpoints.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/rl/batch.h"
#include "cohort/text/tokenizer.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/loss_result.h"

namespace cohort {

/// Which weights play the policy: those before the step's first update, or those after its last.
enum class ReplayWeights : uint8_t { kBefore, kAfter };

/// A sampled token under the replayed weights. Logarithms are natural, at the sampling temperature.
struct ReplayedToken {
  int64_t place = 0;  ///< in Completion::token_ids
  int32_t id = 0;
  double sampler_logprob = 0.0;
  double policy_logprob = 0.0;
  std::optional<double> ref_logprob{};  ///< nothing without a reference
  double ratio = 0.0;                   ///< exp(policy - sampler)
  double advantage = 0.0;
  bool is_clipped =
      false;  ///< the ratio is past the bound of [1 - epsilon, 1 + epsilon_high] on the advantage's side
  double entropy = 0.0;  ///< of the policy
};

/// The gradient of one sample's part of the loss, beside that of its mini-batch.
struct GradientShare {
  double sample_norm = 0.0;
  double batch_norm = 0.0;
  double share = 0.0;  ///< (sample . batch) / batch_norm^2: the shares of all samples add up to 1
};

/// What a mini-batch's loss did to one sample.
struct SampleGradient {
  GradientShare whole;
  /// For each sampled token, how far the loss raises (above 0) or lowers its log-probability: minus the
  /// loss's derivative by it, as a share of the sum of its magnitudes over the mini-batch. Terms that act on
  /// the whole distribution, such as an entropy bonus, are not in it.
  std::vector<double> tokens;
};

/// A weight's part of the gradient of some samples, beside that of their mini-batch.
struct WeightGradient {
  std::string name;  ///< Hugging Face's, or PEFT's of an adapter
  double norm = 0.0;
  double share = 0.0;  ///< of the mini-batch's gradient of this weight; those of all samples add up to 1
};

/// The gradient of a group's part of the loss: what a prompt did to the weights.
struct GroupGradient {
  GradientShare whole;
  std::vector<WeightGradient> weights;  ///< in the order of the model
};

class Replay {
 public:
  /// Loads step `step` of the run in `root` (0: the last one that has a batch). Throws UserError naming the
  /// batch or the checkpoint that is missing, and what to set so that it is kept.
  Replay(const std::filesystem::path& root, int64_t step, ReplayWeights weights = ReplayWeights::kBefore);

  const Batch& batch() const { return batch_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

  /// The sampled tokens of a sample; branches count behind theirs (sequences_of). Throws UserError if the
  /// batch has no such group or sample.
  std::vector<ReplayedToken> tokens(int64_t group, int64_t sample) const;

  /// A backward pass of the sample alone, with the normalizers of its mini-batch, and one of that mini-batch,
  /// which is kept for its other samples. Nothing where the loss is a function of Python.
  std::optional<SampleGradient> sample_gradient(int64_t group, int64_t sample);

  /// A backward pass for each group and one for each mini-batch: a gradient for each group of the batch.
  /// Throws UserError where the loss is a function of Python.
  std::vector<GroupGradient> group_gradients();

  /// Recomputes the step from the weights before it: rewards' sums, credit, log-probabilities of sampler and
  /// reference, entropies and, for a step of one update, its metrics. Returns each difference in any bit as a
  /// line. Throws UserError where loss or advantages are functions of Python.
  std::vector<std::string> check();

 private:
  struct MiniBatch {
    std::span<const Group> groups;
    std::vector<at::Tensor> gradient;        ///< of each of the policy's parameters()
    std::vector<std::vector<float>> tokens;  ///< by sequence: the gradient by its log-probabilities
    double token_sum = 0.0;                  ///< of their magnitudes
  };

  const Group& group(int64_t group, int64_t sample) const;
  const MiniBatch& mini_batch_of(int64_t group);
  std::vector<at::Tensor> gradient_of(std::span<const Group> mini_batch, LossOptions options);

  std::filesystem::path root_;
  TrainConfig config_;
  ObjectiveSettings objective_;
  Batch batch_;
  ReplayWeights weights_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<Decoder> policy_;
  std::unique_ptr<Decoder> own_reference_;
  MiniBatch mini_batch_;  ///< the last one that was asked for
};

}  // namespace cohort
