#include "cohort/train/grpo/reward_timings.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"

namespace cohort {
namespace {

void append_percentiles(Metrics& timings, const std::string& prefix, const std::vector<double>& seconds) {
  timings.emplace_back(prefix + "p50", percentile(seconds, 0.5));
  timings.emplace_back(prefix + "p90", percentile(seconds, 0.9));
  timings.emplace_back(prefix + "p99", percentile(seconds, 0.99));
}

}  // namespace

double percentile(std::vector<double> values, double quantile) {
  COHORT_CHECK(!values.empty() && quantile > 0.0 && quantile <= 1.0);
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(quantile * static_cast<double>(values.size())));
  return values[std::clamp<size_t>(rank, 1, values.size()) - 1];
}

Metrics reward_timings(const std::vector<std::string>& names, const std::vector<RewardRound>& rounds) {
  using Seconds = std::chrono::duration<double>;
  double seconds_beside = 0.0, seconds_after = 0.0;
  std::vector<std::vector<double>> latencies(names.size());
  for (const RewardRound& round : rounds) {
    for (const RewardCall& call : round.calls) {
      const auto turn = std::clamp(round.generation_end, call.start, call.end);
      const auto num_rows = static_cast<double>(call.num_rows);
      seconds_beside += Seconds(turn - call.start).count() / num_rows;
      seconds_after += Seconds(call.end - turn).count() / num_rows;
      latencies.at(call.reward).push_back(Seconds(call.end - call.start).count());
    }
  }
  Metrics timings{{"timing_s/reward_beside_gen", seconds_beside},
                  {"timing_s/reward_after_gen", seconds_after}};
  for (size_t i = 0; i < names.size(); ++i) {
    if (!latencies[i].empty()) append_percentiles(timings, "timing_s/reward/" + names[i] + "/", latencies[i]);
  }
  return timings;
}

Metrics reply_timings(const ReplyTimes& times) {
  Metrics timings{{"timing_s/idle_for_tools", times.idle_s}};
  for (const auto& [tool, seconds] : times.of_calls)
    append_percentiles(timings, "timing_s/tools/" + tool + "/", seconds);
  return timings;
}

}  // namespace cohort
