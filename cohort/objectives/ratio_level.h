// What the importance ratio is taken over: a token, a turn or a completion. Legend: M packed loss tokens of N
// completions; log_ratio = log policy - log anchor, [M], through which the gradient flows.
#pragma once

#include <ATen/ATen.h>

#include <span>
#include <string>

#include "cohort/objectives/segments.h"

namespace cohort {

/// exp(clamp(log_ratio, +-20)), any shape: PPO's ratio of a token (arXiv:1707.06347 eq. 6). Gradient flows.
at::Tensor token_ratio(const at::Tensor& log_ratio);

/// Each token has its segment's exp(mean of log_ratio), [M]: GSPO's sequence ratio (arXiv:2507.18071 eq. 7)
/// over completions, the ratio of an action over turns (arXiv:2605.13217). Gradient flows to all tokens of
/// the segment.
at::Tensor segment_mean_ratio(const at::Tensor& log_ratio, const Segments& segments);

/// Each token has its completion's mean of token_ratio, the arithmetic one, [M] (GRPO-S, arXiv:2508.04349).
/// Gradient flows to all tokens of the completion.
at::Tensor sequence_mean_ratio(const at::Tensor& log_ratio, const Segments& completions);

/// Each token has its completion's exp(sum of log_ratio), [M] (RLOO as in TRL; arXiv:2508.02833). Gradient
/// flows to all tokens of the completion.
at::Tensor sequence_product_ratio(const at::Tensor& log_ratio, const Segments& completions);

/// The value of segment_mean_ratio with the gradient of the token's own log-probability, [M]: GSPO-token
/// (arXiv:2507.18071 eq. 14). `log_ratio` [M] carries that gradient.
at::Tensor sequence_token_ratio(const at::Tensor& log_ratio, const Segments& completions);

/// What a level's function is given.
struct RatioScope {
  const at::Tensor& log_ratio;  ///< [M], carries the gradient
  const Segments& completions;
  const Segments* turns;  ///< may be null unless RatioLevel::is_of_turns
};

/// A line of ratio_levels.def.
struct RatioLevel {
  const char* name;
  const char* text;
  at::Tensor (*ratio)(const RatioScope& scope);  ///< [M]; null: there is none
  bool is_of_token = false;                      ///< a token's ratio depends on that token alone
  bool is_of_sequence = false;                   ///< one ratio for all tokens of a completion
  bool is_of_turns = false;                      ///< one for all tokens of a turn
  bool couples_tokens = false;                   ///< tokens differ, and depend on all of their completion
  bool is_geometric_mean = false;                ///< which moves far less than a token's
  bool grows_with_length = false;                ///< or vanishes with it
};

/// In the order of ratio_levels.def.
std::span<const RatioLevel> ratio_levels();

/// Throws InternalError for an unknown name.
const RatioLevel& find_ratio_level(const std::string& name);

/// The ratio that `level` names (LossConfig::importance_sampling_level, not "none"), [M]; `turns` is read for
/// "turn" only and must then not be null. All exponents are clamped to +-20, with gradient 0 outside.
at::Tensor ratio_at_level(const std::string& level, const at::Tensor& log_ratio, const Segments& completions,
                          const Segments* turns);

}  // namespace cohort
