#include "cohort/train/reward/reward_loss.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "cohort/core/error.h"
#include "cohort/models/classifier.h"

namespace cohort {
namespace {

using Examples = std::span<const RewardExample>;

/// Pieces of at most `max_rows` rows, or of one example.
std::vector<Examples> cut(const std::vector<RewardExample>& batch, int64_t max_rows) {
  std::vector<Examples> pieces;
  size_t begin = 0;
  int64_t rows = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (i > begin && rows + batch[i].num_rows() > max_rows) {
      pieces.push_back(Examples(batch).subspan(begin, i - begin));
      begin = i;
      rows = 0;
    }
    rows += batch[i].num_rows();
  }
  pieces.push_back(Examples(batch).subspan(begin));
  return pieces;
}

void add_rewards(const at::Tensor& rewards, RewardLoss& total) {
  const at::Tensor values = rewards.detach().to(at::kCPU, at::kDouble).contiguous().view(-1);
  const double least = values.min().item<double>(), most = values.max().item<double>();
  total.reward_min = total.num_rewards == 0 ? least : std::min(total.reward_min, least);
  total.reward_max = total.num_rewards == 0 ? most : std::max(total.reward_max, most);
  total.reward_sum += values.sum().item<double>();
  total.num_rewards += values.numel();
}

/// `scores` [2 pairs, 1], chosen and rejected in turn; the pairs' part of the loss.
at::Tensor pair_loss(const at::Tensor& scores, Examples examples, const RewardLossOptions& options,
                     RewardLoss& total) {
  std::vector<double> margins;
  for (const RewardExample& example : examples) margins.push_back(example.margin);
  const at::Tensor rewards = scores.to(at::kDouble).view({-1, 2});
  const at::Tensor lead = rewards.select(1, 0) - rewards.select(1, 1);
  at::Tensor loss = -at::log_sigmoid(lead - at::tensor(margins, at::kDouble).to(lead.device())).sum();
  if (options.center_rewards_coefficient)
    loss = loss + *options.center_rewards_coefficient * rewards.sum(1).square().sum();
  total.num_right += (lead > 0).sum().item<int64_t>();
  total.margin_sum += lead.sum().item<double>();
  add_rewards(rewards, total);
  return loss / static_cast<double>(total.num_items);
}

/// `scores` [steps, labels]; the steps' part of the loss.
at::Tensor step_loss(const at::Tensor& scores, Examples examples, RewardLoss& total) {
  std::vector<int64_t> labels;
  for (const RewardExample& example : examples)
    labels.insert(labels.end(), example.step_labels.begin(), example.step_labels.end());
  const at::Tensor targets = at::tensor(labels, at::kLong).to(scores.device());
  const at::Tensor logprobs = at::log_softmax(scores.to(at::kDouble), 1);
  total.num_right += (scores.argmax(1) == targets).sum().item<int64_t>();
  add_rewards(logprobs.select(1, 1).exp(), total);
  return -logprobs.gather(1, targets.unsqueeze(1)).sum() / static_cast<double>(total.num_items);
}

void add_gradient(const Decoder& decoder, Examples examples, const RewardLossOptions& options,
                  RewardLoss& total) {
  const bool is_pair = decoder.config().head == HeadKind::kSequenceClassification;
  PackedSequences packed;
  std::vector<int64_t> rows;
  for (const RewardExample& example : examples) {
    packed.begin_group(example.prompt_ids);
    const auto before = static_cast<int64_t>(example.prompt_ids.size());
    for (const std::vector<int32_t>& completion : example.completions) {
      const int64_t sequence = packed.add(completion);
      if (is_pair) rows.push_back(packed.pooled_row(sequence, decoder.config()));
      for (const int64_t end : example.step_ends) rows.push_back(packed.row(sequence, before + end - 1));
      total.num_tokens += packed.length(sequence);
    }
  }
  const at::Tensor scores = packed.scores(decoder, rows, options.recompute);
  const at::Tensor loss =
      is_pair ? pair_loss(scores, examples, options, total) : step_loss(scores, examples, total);
  total.loss += loss.item<double>();
  if (at::GradMode::is_enabled() && std::isfinite(total.loss)) loss.backward();
}

}  // namespace

RewardLoss accumulate_reward_gradient(const Decoder& decoder, const std::vector<RewardExample>& batch,
                                      const RewardLossOptions& options) {
  COHORT_CHECK(!batch.empty());
  RewardLoss total;
  for (const RewardExample& example : batch)
    total.num_items += example.step_ends.empty() ? 1 : static_cast<int64_t>(example.step_ends.size());
  for (const Examples piece : cut(batch, options.tokens_per_microbatch)) {
    add_gradient(decoder, piece, options, total);
    if (!std::isfinite(total.loss)) break;
  }
  return total;
}

}  // namespace cohort
