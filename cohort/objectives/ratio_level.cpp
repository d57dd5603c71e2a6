#include "cohort/objectives/ratio_level.h"

#include <array>

#include "cohort/core/error.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/ratio.h"

namespace cohort {

at::Tensor token_ratio(const at::Tensor& log_ratio) {
  return log_ratio.clamp(-kMaxLogRatio, kMaxLogRatio).exp();
}

at::Tensor segment_mean_ratio(const at::Tensor& log_ratio, const Segments& segments) {
  return segments.expand(token_ratio(segments.mean(log_ratio)));
}

at::Tensor sequence_mean_ratio(const at::Tensor& log_ratio, const Segments& completions) {
  return completions.expand(completions.mean(token_ratio(log_ratio)));
}

at::Tensor sequence_product_ratio(const at::Tensor& log_ratio, const Segments& completions) {
  return completions.expand(token_ratio(completions.sum(log_ratio)));
}

at::Tensor sequence_token_ratio(const at::Tensor& log_ratio, const Segments& completions) {
  return segment_mean_ratio(log_ratio.detach(), completions) * (log_ratio - log_ratio.detach()).exp();
}

namespace {

at::Tensor over_the_token(const RatioScope& of) { return token_ratio(of.log_ratio); }

at::Tensor over_the_sequence(const RatioScope& of) {
  return segment_mean_ratio(of.log_ratio, of.completions);
}

at::Tensor over_sequence_and_token(const RatioScope& of) {
  return sequence_token_ratio(of.log_ratio, of.completions);
}

at::Tensor over_the_arithmetic_mean(const RatioScope& of) {
  return sequence_mean_ratio(of.log_ratio, of.completions);
}

at::Tensor over_the_product(const RatioScope& of) {
  return sequence_product_ratio(of.log_ratio, of.completions);
}

at::Tensor over_the_turn(const RatioScope& of) {
  COHORT_CHECK(of.turns != nullptr, "no turns");
  return segment_mean_ratio(of.log_ratio, *of.turns);
}

constexpr auto kRatioLevels = std::to_array<RatioLevel>({
#define RATIO_LEVEL(id, words, function, ...) \
  {.name = #id, .text = words, .ratio = function __VA_OPT__(, ) __VA_ARGS__},
#include "cohort/objectives/ratio_levels.def"
#undef RATIO_LEVEL
});

}  // namespace

std::span<const RatioLevel> ratio_levels() { return kRatioLevels; }

const RatioLevel& find_ratio_level(const std::string& name) {
  return find_choice(kRatioLevels, name, "importance_sampling_level");
}

at::Tensor ratio_at_level(const std::string& level, const at::Tensor& log_ratio, const Segments& completions,
                          const Segments* turns) {
  const RatioLevel& found = find_ratio_level(level);
  COHORT_CHECK(found.ratio != nullptr, "level is ", level);
  return found.ratio({log_ratio, completions, turns});
}

}  // namespace cohort
