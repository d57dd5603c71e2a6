#include "cohort/objectives/loss_term_metrics.h"

#include <limits>

namespace cohort {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();  // the extreme of nothing

/// The clipped share of each completion that has tokens.
at::Tensor clipped_shares(const at::Tensor& is_clipped, const Segments& completions) {
  const at::Tensor shares = completions.mean(is_clipped.to(at::kDouble));
  return shares.masked_select(completions.lengths(at::kLong) > 0);
}

void record_clipping(const PolicyTerm& term, const Segments& completions, LossMetrics& metrics) {
  const at::Tensor low = term.low_clipped, high = term.high_clipped;
  record_mean("clip_ratio/low_mean", low, metrics);
  record_mean("clip_ratio/high_mean", high, metrics);
  record_mean("clip_ratio/region_mean", low.logical_or(high), metrics);
  const at::Tensor low_shares = clipped_shares(low, completions);
  const bool has_any = low_shares.numel() > 0;
  metrics.add_smallest("clip_ratio/low_min", has_any ? low_shares.min().item<double>() : kInfinity);
  metrics.add_largest("clip_ratio/high_max",
                      has_any ? clipped_shares(high, completions).max().item<double>() : -kInfinity);
}

}  // namespace

void record_mean(const char* name, const at::Tensor& per_token, LossMetrics& metrics) {
  metrics.add_mean(name, per_token.detach().sum(at::kDouble).item<double>(),
                   static_cast<double>(per_token.numel()));
}

void record_ratio(const PolicyTerm& term, const TokenView& view, LossMetrics& metrics) {
  record_mean("ratio/mean", term.ratio, metrics);
  const bool has_any = term.ratio.numel() > 0;
  metrics.add_largest("ratio/max", has_any ? term.ratio.detach().max().item<double>() : -kInfinity);
  if (view.mismatch.defined()) record_mean("mismatch/mean", view.mismatch, metrics);
  if (term.low_clipped.defined()) record_clipping(term, view.completions, metrics);
}

}  // namespace cohort
