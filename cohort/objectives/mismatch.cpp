#include "cohort/objectives/mismatch.h"

#include <array>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/objectives/choices.h"
#include "cohort/objectives/ratio_level.h"

namespace cohort {
namespace {

constexpr auto kMismatchModes = std::to_array<MismatchMode>({
#define MISMATCH_MODE(id, words, ...) {.name = #id, .text = words __VA_OPT__(, ) __VA_ARGS__},
#include "cohort/objectives/mismatch_modes.def"
#undef MISMATCH_MODE
});

}  // namespace

std::span<const MismatchMode> mismatch_modes() { return kMismatchModes; }

const MismatchMode& find_mismatch_mode(const std::string& name) {
  return find_choice(kMismatchModes, name, "mode");
}

at::Tensor mismatch_weights(const std::string& mode, const at::Tensor& old_logprobs,
                            const at::Tensor& sampler_logprobs, const Segments& completions,
                            std::optional<double> low, std::optional<double> high) {
  const MismatchMode& found = find_mismatch_mode(mode);
  COHORT_CHECK(found.is_on, "mode is ", mode);
  const at::Tensor sampler = sampler_logprobs.detach();
  const at::Tensor difference = (old_logprobs.detach() - sampler).masked_fill(sampler.isnan(), 0.0);
  const at::Tensor weights =
      found.is_of_sequence ? sequence_product_ratio(difference, completions) : token_ratio(difference);
  const double lowest = low.value_or(0.0);
  const double highest = high.value_or(std::numeric_limits<double>::infinity());
  if (found.is_truncated) return weights.clamp_min(lowest).clamp_max(highest);
  return weights.masked_fill((weights < lowest).logical_or(weights > highest), 0.0);
}

}  // namespace cohort
