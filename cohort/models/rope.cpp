#include "cohort/models/rope.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// theta^(2i / head_dim) for i < head_dim / 2: positions a radian.
at::Tensor radian_positions(double theta, int64_t head_dim) {
  const at::Tensor exponents = at::arange(0, head_dim, 2, at::kFloat) / static_cast<double>(head_dim);
  return at::pow(at::scalar_tensor(theta, at::kFloat), exponents);
}

at::Tensor plain_frequencies(double theta, int64_t head_dim) {
  return at::reciprocal(radian_positions(theta, head_dim));
}

/// The base grows so that the lowest frequency spans the planned length.
at::Tensor dynamic_frequencies(const RopeConfig& rope, int64_t head_dim, int64_t max_positions,
                               int64_t planned_length) {
  const auto length = static_cast<double>(std::max(planned_length, max_positions));
  const double growth = rope.factor * length / static_cast<double>(max_positions) - (rope.factor - 1.0);
  const double power = static_cast<double>(head_dim) / static_cast<double>(head_dim - 2);
  return plain_frequencies(rope.rope_theta * std::pow(growth, power), head_dim);
}

/// Attention's temperature for a context that is `factor` times as long.
double yarn_scale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

RopeFrequencies yarn_frequencies(const RopeConfig& rope, int64_t head_dim) {
  const auto dim = static_cast<double>(head_dim);
  const auto original = static_cast<double>(rope.original_max_position_embeddings);
  // The (fractional) frequency that makes this many rotations over the original context.
  const auto index_of = [&](double rotations) {
    return dim * std::log(original / (rotations * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(rope.rope_theta));
  };
  double low = index_of(rope.beta_fast), high = index_of(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1.0);
  if (low == high) high += 0.001;
  const at::Tensor interpolated_share =
      ((at::arange(head_dim / 2, at::kFloat) - low) / (high - low)).clamp(0.0, 1.0);
  const at::Tensor positions = radian_positions(rope.rope_theta, head_dim);
  const at::Tensor kept = at::reciprocal(positions), stretched = at::reciprocal(positions * rope.factor);
  double scale = rope.attention_factor;
  if (scale == 0.0 && rope.mscale != 0.0 && rope.mscale_all_dim != 0.0) {
    scale = yarn_scale(rope.factor, rope.mscale) / yarn_scale(rope.factor, rope.mscale_all_dim);
  } else if (scale == 0.0) {
    scale = yarn_scale(rope.factor, 1.0);
  }
  return {stretched * interpolated_share + kept * (1.0 - interpolated_share), scale};
}

RopeFrequencies longrope_frequencies(const RopeConfig& rope, int64_t head_dim, int64_t planned_length) {
  const auto original = static_cast<double>(rope.original_max_position_embeddings);
  const bool is_long = planned_length > rope.original_max_position_embeddings;
  const at::Tensor factors = at::tensor(is_long ? rope.long_factor : rope.short_factor, at::kFloat);
  double scale = rope.attention_factor;
  if (scale == 0.0) {
    scale = rope.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(rope.factor) / std::log(original));
  }
  return {at::reciprocal(factors * radian_positions(rope.rope_theta, head_dim)), scale};
}

/// Long waves are stretched, short ones kept, those between blended by how often they turn.
at::Tensor llama3_frequencies(const RopeConfig& rope, int64_t head_dim) {
  const auto original = static_cast<double>(rope.original_max_position_embeddings);
  const at::Tensor frequencies = plain_frequencies(rope.rope_theta, head_dim);
  const at::Tensor turns = original / (2.0 * std::numbers::pi / frequencies);
  const at::Tensor kept_share =
      (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  const at::Tensor blended = (1.0 - kept_share) * frequencies / rope.factor + kept_share * frequencies;
  const at::Tensor long_or_blended =
      at::where(turns < rope.low_freq_factor, frequencies / rope.factor, blended);
  return at::where(turns > rope.high_freq_factor, frequencies, long_or_blended);
}

}  // namespace

RopeFrequencies rope_frequencies(const RopeConfig& rope, int64_t head_dim, int64_t max_position_embeddings,
                                 int64_t planned_length) {
  const at::NoGradGuard no_grad;
  if (rope.rope_type == "yarn") return yarn_frequencies(rope, head_dim);
  if (rope.rope_type == "longrope") return longrope_frequencies(rope, head_dim, planned_length);
  if (rope.rope_type == "llama3") return {llama3_frequencies(rope, head_dim)};
  if (rope.rope_type == "dynamic") {
    return {dynamic_frequencies(rope, head_dim, max_position_embeddings, planned_length)};
  }
  if (rope.rope_type == "linear") return {plain_frequencies(rope.rope_theta, head_dim) / rope.factor};
  COHORT_CHECK(rope.rope_type == "default", "rope type ", rope.rope_type);
  return {plain_frequencies(rope.rope_theta, head_dim)};
}

bool depends_on_length(const RopeConfig& rope) {
  return rope.rope_type == "dynamic" || rope.rope_type == "longrope";
}

int64_t allowed_positions(const RopeConfig& rope, int64_t max_position_embeddings) {
  const int64_t original =
      rope.rope_type == "dynamic" ? max_position_embeddings : rope.original_max_position_embeddings;
  return std::max(max_position_embeddings, static_cast<int64_t>(rope.factor * static_cast<double>(original)));
}

}  // namespace cohort
