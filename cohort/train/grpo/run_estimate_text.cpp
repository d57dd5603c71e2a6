// How an estimate of a run is shown.
#include <cmath>
#include <cstdio>

#include "cohort/core/units.h"
#include "cohort/train/grpo/run_estimate.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

std::string rounded(double value, int digits) {
  if (std::isnan(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string percent(int64_t part, int64_t whole) {
  return whole == 0 ? "-" : rounded(100.0 * static_cast<double>(part) / static_cast<double>(whole), 0) + " %";
}

std::string line(const std::string& label, const std::string& text) {
  std::string padded = label;
  padded.resize(std::max<size_t>(padded.size() + 1, 16), ' ');
  return "  " + padded + text + "\n";
}

std::string reward_line(const RewardTrial& reward) {
  std::string counts;
  for (const auto& [status, count] : reward.counts)
    if (count > 0) counts += str(counts.empty() ? "" : ", ", count, " ", status);
  return line(reward.name, str("mean ", rounded(reward.mean, 3), "; ", counts)) +
         (reward.failure.empty() ? "" : line("", reward.failure));
}

std::string completion_lines(const RunEstimate& estimate) {
  const bool is_chosen = estimate.num_trained != estimate.num_completions;
  std::string text =
      line("reward",
           str(rounded(estimate.reward, 3), " on average", is_chosen ? " of the trained completions" : "",
               ", standard deviation ", rounded(estimate.reward_std, 3),
               is_chosen ? str("; ", rounded(estimate.drawn_reward, 3), " of all that were drawn") : ""));
  if (estimate.compares_groups)
    text += line("groups", str(percent(estimate.num_without_difference, estimate.num_groups), " of ",
                               estimate.num_groups, " have rewards without difference and teach nothing"));
  text += line("length", str(rounded(estimate.mean_tokens, 0), " tokens on average; ",
                             percent(estimate.num_cut, estimate.num_completions), " of ",
                             estimate.num_completions, " completions are cut at the limit"));
  for (const RewardTrial& reward : estimate.rewards) text += reward_line(reward);
  return text;
}

/// ", 256 completions are trained on"; empty if all are.
std::string num_trained_text(const RunEstimate& estimate) {
  if (estimate.num_trained == estimate.num_completions) return "";
  return str(", ", estimate.num_trained, " completions are trained on");
}

double cost_of(const RunEstimate& estimate, double price_per_hour) {
  return estimate.run_s() / 3600.0 * price_per_hour;
}

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "";
}

}  // namespace

std::string describe(const RunEstimate& estimate, double price_per_hour) {
  std::string text = str("preflight: ", estimate.num_completions, " completions of ", estimate.num_groups,
                         " prompts", num_trained_text(estimate), "\n", completion_lines(estimate));
  const bool is_scaled = estimate.trial_prompts != estimate.step_prompts;
  text +=
      line("step", str(rounded(estimate.step_s, 2), " s at ", rounded(estimate.tokens_per_s, 0), " tokens/s",
                       is_scaled ? str(", from steps of ", estimate.trial_prompts, " prompts instead of ",
                                       estimate.step_prompts)
                                 : ""));
  text += line("run",
               str(format_duration(estimate.run_s()), " for ", estimate.num_steps, " steps",
                   estimate.num_evaluations > 0 ? str(" and ", estimate.num_evaluations, " evaluations of ",
                                                      format_duration(estimate.evaluation_s))
                                                : "",
                   ", if completions keep their length"));
  if (price_per_hour > 0.0)
    text +=
        line("cost", str(rounded(cost_of(estimate, price_per_hour), 2), " at ", price_per_hour, " per hour"));
  text += line("memory", str(format_bytes(estimate.planned_memory), " at most, of ",
                             format_bytes(estimate.machine_memory)));
  for (const Finding& finding : estimate.findings)
    text += str(name_of(finding.severity), ": ", finding.text, "\n");
  return text;
}

Json to_json(const RunEstimate& estimate, double price_per_hour) {
  const auto number = [](double value) { return std::isnan(value) ? Json(nullptr) : Json(value); };
  Json json{{"completions", estimate.num_completions},
            {"trained_completions", estimate.num_trained},
            {"groups", estimate.num_groups},
            {"cut", estimate.num_cut},
            {"groups_without_difference", estimate.num_without_difference},
            {"mean_tokens", estimate.mean_tokens},
            {"reward", number(estimate.reward)},
            {"reward_std", number(estimate.reward_std)},
            {"drawn_reward", number(estimate.drawn_reward)},
            {"compares_groups", estimate.compares_groups},
            {"tokens_per_s", estimate.tokens_per_s},
            {"trial_prompts", estimate.trial_prompts},
            {"step_prompts", estimate.step_prompts},
            {"step_s", estimate.step_s},
            {"steps", estimate.num_steps},
            {"evaluation_s", estimate.evaluation_s},
            {"evaluations", estimate.num_evaluations},
            {"run_s", estimate.run_s()},
            {"planned_memory_bytes", estimate.planned_memory},
            {"machine_memory_bytes", estimate.machine_memory},
            {"rewards", Json::object()},
            {"findings", Json::array()}};
  if (price_per_hour > 0.0) json["cost"] = cost_of(estimate, price_per_hour);
  for (const RewardTrial& reward : estimate.rewards) {
    json["rewards"][reward.name] = {{"mean", number(reward.mean)}, {"counts", reward.counts}};
    if (!reward.failure.empty()) json["rewards"][reward.name]["failure"] = reward.failure;
  }
  for (const Finding& finding : estimate.findings)
    json["findings"].push_back({{"severity", name_of(finding.severity)}, {"text", finding.text}});
  return json;
}

}  // namespace cohort
