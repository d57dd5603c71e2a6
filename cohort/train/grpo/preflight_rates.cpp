// Findings about a run's learning rate.
#include <algorithm>
#include <cmath>

#include "cohort/explain/thresholds.h"
#include "cohort/train/grpo/preflight.h"

namespace cohort {
namespace {

/// What one update of AdamW may add to a weight, against weights of some 0.02; adapters begin at 0.
constexpr double kRateOfUpdate = 1e-2, kRateOfUpdateOfAdapters = 1e-1;

double factor(double a, double b) {
  constexpr double kNothing = 1e-3;
  return std::max(a, b) / std::max(kNothing, std::min(a, b));
}

bool moves_length(const StepFigures& a, const StepFigures& b) {
  const double difference = std::abs(a.mean_length - b.mean_length);
  const double error = std::hypot(a.length_error, b.length_error);
  return difference >= thresholds::kLeastLengthJump && difference >= thresholds::kClearScore * error &&
         factor(a.mean_length, b.mean_length) >= thresholds::kLengthJump;
}

bool moves_entropy(const StepFigures& a, const StepFigures& b) {
  if (a.entropy <= 0.0 || b.entropy <= 0.0) return false;
  return std::abs(a.entropy - b.entropy) >= thresholds::kLeastEntropyJump &&
         factor(a.entropy, b.entropy) >= thresholds::kEntropyJump;
}

std::string from_to(const char* what, double from, double to) {
  char text[96];
  std::snprintf(text, sizeof(text), "%s from %.3g to %.3g", what, from, to);
  return text;
}

}  // namespace

std::vector<Finding> rate_findings(const RunPlan& plan) {
  const double rate = plan.config.optimizer.learning_rate;
  const bool has_adapters = plan.config.lora.r > 0;
  const double total = rate * static_cast<double>(plan.num_updates);
  const double enough = has_adapters ? thresholds::kTotalRateOfAdapters : thresholds::kTotalRate;
  if (total < enough)
    return {
        {Severity::kWarning,
         str("optimizer.learning_rate = ", rate, " adds up to at most ", total, " in all ", plan.num_updates,
             " updates, and AdamW moves no weight further: weights hardly change below ", enough,
             "; raise it, or train for longer")}};
  if (rate >= (has_adapters ? kRateOfUpdateOfAdapters : kRateOfUpdate))
    return {
        {Severity::kWarning, str("optimizer.learning_rate = ", rate, " lets AdamW move each weight by up to ",
                                 rate, " in one update, as far as the weights themselves: lower it to ",
                                 has_adapters ? "1e-3" : "1e-4", " or below")}};
  return {};
}

std::vector<Finding> movement_findings(const TrainConfig& config, const std::vector<StepFigures>& steps) {
  for (size_t i = 1; i < steps.size(); ++i) {
    const StepFigures &first = steps.front(), &later = steps[i];
    std::string moved;
    if (moves_length(first, later))
      moved = from_to("the mean length", first.mean_length, later.mean_length) + " tokens";
    if (moves_entropy(first, later))
      moved += (moved.empty() ? "" : ", ") + from_to("entropy", first.entropy, later.entropy) + " nats";
    if (moved.empty()) continue;
    return {{Severity::kWarning, str("the first ", i == 1 ? "step moves " : str(i, " steps move "), moved,
                                     ": lower optimizer.learning_rate = ", config.optimizer.learning_rate,
                                     ", or raise optimizer.warmup_steps")}};
  }
  return {};
}

}  // namespace cohort
