#include <algorithm>
#include <cmath>

#include "cohort/core/time_text.h"
#include "cohort/explain/run_diff.h"
#include "cohort/records/run_directory.h"
#include "cohort/view/report_parts.h"

namespace cohort {
namespace {

/// Figures that show a result, for all kinds of runs; those that end in "/" are beginnings of names.
constexpr const char* kResults[] = {"eval_reward",
                                    "eval_rewards/",
                                    "eval_accuracy",
                                    "eval_loss",
                                    "reward",
                                    "rewards/",
                                    "accuracy",
                                    "loss",
                                    "completions/mean_length",
                                    "completions/clipped_ratio",
                                    "entropy",
                                    "kl",
                                    "timing_s/step",
                                    "perf/throughput"};

/// The figure that a run of a kind is for, the first that it has.
constexpr const char* kMainFigures[] = {"eval_reward",        "reward",    "attacker/reward",
                                        "eval_accuracy",      "accuracy",  "eval_rewards/accuracies",
                                        "rewards/accuracies", "eval_loss", "loss"};

bool is_evaluation(const std::string& name) { return name.starts_with("eval_"); }

/// Values that are numbers, with their steps.
FigureColumn numbers_of(const FigureColumn& column) {
  FigureColumn numbers;
  for (size_t i = 0; i < column.values.size(); ++i) {
    if (!std::isfinite(column.values[i])) continue;
    numbers.steps.push_back(column.steps[i]);
    numbers.values.push_back(column.values[i]);
  }
  return numbers;
}

std::string time_or_dash(const RunView& run) {
  std::error_code none;
  if (!std::filesystem::exists(run.path() / ".start", none)) return "-";
  return to_time_text(RunDirectory::start_of(run.path()));
}

std::string setting_text(const RunView& run, std::string_view key) {
  const Json* value = find_setting(run.recipe(), key);
  if (value == nullptr) return "-";
  if (!value->is_array()) return string_or_json(*value);
  std::string list;
  for (const Json& each : *value) list += (list.empty() ? "" : ", ") + string_or_json(each);
  return list.empty() ? "-" : list;
}

/// The rewards with their weights: "accuracy (countdown), brevity (length, weight 0.2)".
std::string rewards_text(const RunView& run) {
  const Json* rewards = find_setting(run.recipe(), "reward");
  if (rewards == nullptr || !rewards->is_array()) return "-";
  std::string text;
  for (const Json& reward : *rewards) {
    const Json* weight = find_setting(reward, "weight");
    const Json* type = find_setting(reward, "type");
    const Json* name = find_setting(reward, "name");
    text += text.empty() ? "" : ", ";
    text += name != nullptr ? string_or_json(*name) : "reward";
    std::string details = type != nullptr && *type != "" ? string_or_json(*type) : "";
    if (weight != nullptr && weight->is_number())
      details += (details.empty() ? "weight " : ", weight ") + string_or_json(*weight);
    if (!details.empty()) text += " (" + details + ")";
  }
  return text.empty() ? "-" : text;
}

std::vector<std::string> header_of(std::span<const RunView> runs, const char* first) {
  std::vector<std::string> header{first};
  for (const RunView& run : runs) header.push_back(run.name());
  return header;
}

/// Adds a row unless no run has it.
template <typename F>
void add_row(Table& table, std::span<const RunView> runs, const std::string& name, F text_of) {
  std::vector<std::string> row{name};
  for (const RunView& run : runs) row.push_back(text_of(run));
  const bool is_empty =
      std::all_of(row.begin() + 1, row.end(), [](const std::string& cell) { return cell == "-"; });
  if (!is_empty) table.rows.push_back(std::move(row));
}

std::vector<std::string> result_names(std::span<const RunView> runs) {
  std::vector<std::string> names;
  for (const std::string wanted : kResults) {
    for (const RunView& run : runs) {
      for (const std::string& name : run.figures().names()) {
        const bool is_beginning = wanted.ends_with('/') && name.starts_with(wanted);
        const bool is_told = !is_beginning || name.ends_with("/mean") ||
                             name.find("/pass@") != std::string::npos ||
                             name.find("/cons@") != std::string::npos;
        if ((is_beginning ? is_told : name == wanted) && std::ranges::find(names, name) == names.end())
          names.push_back(name);
      }
    }
  }
  return names;
}

/// Runs that repeat one recipe with other seeds.
using SeedGroup = std::vector<const RunView*>;

bool differ_in_seed_alone(const Json& a, const Json& b) {
  return std::ranges::all_of(compare_settings(a, b), [](const SettingDifference& setting) {
    return setting.key == "seed" || setting.key.starts_with("run.");
  });
}

std::vector<SeedGroup> seed_groups(std::span<const RunView> runs) {
  std::vector<SeedGroup> groups;
  for (const RunView& run : runs) {
    const auto group = std::ranges::find_if(groups, [&](const SeedGroup& other) {
      return differ_in_seed_alone(other.front()->recipe(), run.recipe());
    });
    if (group == groups.end()) {
      groups.push_back({&run});
    } else {
      group->push_back(&run);
    }
  }
  return groups;
}

std::string names_of(const SeedGroup& group) {
  std::string names;
  for (const RunView* run : group) names += (names.empty() ? "" : ", ") + run->name();
  return names;
}

/// "from the first 45 to the last 45 steps", as far as the runs have the same number of steps.
std::string span_text(const std::string& name, const std::vector<BeforeAfter>& changes) {
  if (is_evaluation(name)) return "from the first to the last evaluation";
  const int64_t count = changes.front().before.count;
  const auto has_count = [&](const BeforeAfter& change) { return change.before.count == count; };
  if (!std::ranges::all_of(changes, has_count)) return "from the first to the last tenth of each run's steps";
  return count == 1 ? "from the first to the last step"
                    : str("from the first ", count, " to the last ", count, " steps");
}

/// What the first main figure that all runs of the group have did.
std::string sentence_of(const SeedGroup& group, bool is_only) {
  const std::string subject = is_only ? "" : names_of(group) + ": ";
  for (const std::string name : kMainFigures) {
    std::vector<BeforeAfter> changes;
    std::vector<double> before, after;
    for (const RunView* run : group) {
      const std::optional<BeforeAfter> change = before_and_after(run->figures(), name);
      if (!change) break;
      changes.push_back(*change);
      before.push_back(change->before.mean);
      after.push_back(change->after.mean);
    }
    if (changes.size() != group.size()) continue;
    const bool is_one = group.size() == 1;
    return str(subject, name, " went from ", to_text(is_one ? changes[0].before : mean_interval(before)),
               " to ", to_text(is_one ? changes[0].after : mean_interval(after)), " ",
               span_text(name, changes), is_one ? "." : str(" (mean over ", group.size(), " runs)."));
  }
  return subject + (is_only ? "The runs have no figure of a result yet." : "no figure of a result yet.");
}

}  // namespace

std::optional<BeforeAfter> before_and_after(const Figures& figures, const std::string& name) {
  const FigureColumn* found = figures.find(name);
  const FigureColumn column = found != nullptr ? numbers_of(*found) : FigureColumn();
  if (column.values.empty()) return std::nullopt;
  const size_t count = column.values.size();
  const size_t part = is_evaluation(name) || count < 6 ? 1 : std::max<size_t>(3, count / 10);
  const std::span<const double> values(column.values);
  return BeforeAfter{mean_interval(values.first(part)), mean_interval(values.last(part)),
                     column.steps.front(), column.steps.back()};
}

Table properties_table(std::span<const RunView> runs) {
  Table table{"Properties of each run.", header_of(runs, "property"), {}};
  add_row(table, runs, "command", [](const RunView& run) { return "cohort " + run.kind(); });
  add_row(table, runs, "model", [](const RunView& run) { return setting_text(run, "model.path"); });
  add_row(table, runs, "data", [](const RunView& run) { return setting_text(run, "data.path"); });
  add_row(table, runs, "held-out data",
          [](const RunView& run) { return setting_text(run, "data.eval_path"); });
  add_row(table, runs, "preset", [](const RunView& run) { return setting_text(run, "objective.preset"); });
  add_row(table, runs, "rewards", rewards_text);
  add_row(table, runs, "seed", [](const RunView& run) { return setting_text(run, "seed"); });
  add_row(table, runs, "steps", [](const RunView& run) {
    const std::string of = run.max_steps() > 0 ? str(" of ", run.max_steps()) : "";
    return str(run.figures().last_step(), of, run.is_finished() ? "" : " (not finished)");
  });
  add_row(table, runs, "started", time_or_dash);
  return table;
}

Table settings_table(std::span<const RunView> runs) {
  Table table{"The main settings; the recipe below has all of them.", header_of(runs, "setting"), {}};
  for (const char* key : {"model.dtype",
                          "lora.r",
                          "lora.alpha",
                          "rollout.prompts_per_step",
                          "rollout.num_generations",
                          "rollout.max_completion_length",
                          "rollout.temperature",
                          "rollout.top_p",
                          "objective.loss_type",
                          "objective.surrogate",
                          "objective.aggregation",
                          "objective.baseline",
                          "objective.scale_rewards",
                          "objective.epsilon",
                          "objective.epsilon_high",
                          "objective.beta",
                          "optimizer.learning_rate",
                          "optimizer.lr_scheduler_type",
                          "optimizer.warmup_steps",
                          "optimizer.weight_decay",
                          "optimizer.max_grad_norm",
                          "train.sequences_per_step",
                          "train.pairs_per_step",
                          "train.rows_per_step",
                          "train.steps_per_generation"})
    add_row(table, runs, key, [key](const RunView& run) { return setting_text(run, key); });
  return table;
}

Table result_table(std::span<const RunView> runs) {
  Table table{"Figures at the beginning and at the end, each a mean over so many values.",
              {"figure", "run", "steps", "values", "before", "after"},
              {}};
  const std::vector<SeedGroup> groups = seed_groups(runs);
  for (const std::string& name : result_names(runs)) {
    for (const SeedGroup& group : groups) {
      std::vector<double> ends;
      for (const RunView* run : group) {
        const std::optional<BeforeAfter> change = before_and_after(run->figures(), name);
        if (!change) continue;
        ends.push_back(change->after.mean);
        table.rows.push_back({name, run->name(), str(change->first_step, " to ", change->last_step),
                              std::to_string(change->after.count), to_text(change->before),
                              to_text(change->after)});
      }
      const std::string over = groups.size() == 1 ? "runs" : names_of(group);
      if (ends.size() > 1)
        table.rows.push_back({name, "mean over " + over, "", "", "", to_text(mean_interval(ends))});
    }
  }
  return table;
}

Block headline(std::span<const RunView> runs) {
  const std::vector<SeedGroup> groups = seed_groups(runs);
  if (groups.size() == 1) return Paragraph{sentence_of(groups.front(), true)};
  BulletList list;
  for (const SeedGroup& group : groups) list.items.push_back(sentence_of(group, false));
  return list;
}

std::string averaging_text(std::span<const RunView> runs) {
  const std::vector<SeedGroup> groups = seed_groups(runs);
  if (groups.size() == 1)
    return "The recipes differ in nothing but the seed: the last row of a figure is the mean over the runs.";
  if (groups.size() == runs.size())
    return "The recipes differ in more than the seed, so that no mean over runs is given.";
  return "A mean is taken over runs whose recipes differ in nothing but the seed.";
}

std::vector<Chart> curves(std::span<const RunView> runs) {
  std::vector<Chart> charts;
  std::vector<std::string> names = result_names(runs);
  for (const char* more :
       {"reward_std", "frac_reward_zero_std", "grad_norm", "learning_rate", "rewards/margins"})
    names.emplace_back(more);
  for (const std::string& name : names) {
    Chart chart{"chart-" + std::to_string(charts.size() + 1), name, "", {}};
    for (const RunView& run : runs) {
      const FigureColumn* column = run.figures().find(name);
      if (column == nullptr || numbers_of(*column).values.empty()) continue;
      const std::optional<BeforeAfter> change = before_and_after(run.figures(), name);
      chart.description += str(chart.description.empty() ? "" : "; ", run.name(), ": ",
                               to_text(change->before), " to ", to_text(change->after));
      chart.series.push_back({run.name(), *column});
    }
    if (!chart.series.empty()) charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace cohort
