#include "cohort/view/step_timeline.h"

#include <algorithm>

#include "cohort/view/run_answers.h"

namespace cohort {
namespace {

constexpr const char* kParts[] = {"gen",          "gen_ahead", "reward",        "adv",         "ref",
                                  "old_log_prob", "values",    "update_critic", "update_actor"};

}  // namespace

std::vector<StepPart> step_parts(const Figures& figures, int64_t step) {
  const auto seconds_of = [&](const std::string& name) {
    return figure_at(figures, "timing_s/" + name, step).value_or(0.0);
  };
  std::vector<StepPart> parts;
  const auto add = [&](const std::string& name, double from_s, double seconds) {
    if (seconds > 0.0) parts.push_back({name, from_s, seconds});
  };
  const double whole = seconds_of("step");
  if (whole <= 0.0) return parts;
  // With episodes, sampling ahead is a part of gen.
  const bool has_episodes = figure_at(figures, "timing_s/idle_for_tools", step).has_value();
  double from_s = 0.0;
  for (const std::string name : kParts) {
    const double seconds = seconds_of(name);
    const bool is_within = name == "gen_ahead" && has_episodes;
    add(name, is_within ? 0.0 : from_s, seconds);
    if (!is_within) from_s += seconds;
    if (name != "gen") continue;
    const double prefill_s = seconds_of("gen/prefill");
    add("gen/prefill", 0.0, prefill_s);
    add("gen/decode", prefill_s, seconds_of("gen/decode"));
    add("reward_beside_gen", 0.0, seconds_of("reward_beside_gen"));
  }
  add("other", from_s, whole - from_s);
  add("testing", std::max(from_s, whole), seconds_of("testing"));
  return parts;
}

}  // namespace cohort
