// cohort eval: how good a model is at the prompts of a file.
#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/generation.h"
#include "apps/cli/reward_tables.h"
#include "apps/cli/rows.h"
#include "cohort/core/error.h"
#include "cohort/core/time_text.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/train/evaluation.h"
#include "cohort/train/generation_defaults.h"
#include "cohort/train/run_data.h"

namespace cohort::cli {
namespace {

struct EvalConfig {
  GenerationConfig generation;
  std::string input, output, reward, reward_config, function;
  std::vector<std::string> command;
  std::optional<double> timeout_s;

  void describe(FieldVisitor& f) {
    f("input", input, "JSONL with a string `prompt` per line; other columns reach the reward.");
    f("output", output,
      "JSON: mean reward, pass@k, lengths, finish reasons, statuses. A reward of 1 is a success.");
    f("reward", reward,
      "What judges a completion: a reward with its defaults, or a table of `reward_config`.");
    f("reward_config", reward_config, "TOML with `[[reward]]` tables, as in a recipe.");
    f("command", command,
      "For `command`: a program that answers one JSON line with one JSON line, as a text that /bin/sh runs; "
      "given several times, the words of a program and its arguments.");
    f("function", function, "For `python`: \"FILE.py:NAME\" or \"MODULE:NAME\".");
    f("timeout_s", timeout_s,
      "For `command` and `python`: seconds for one request, 10 when unset; later answers count as timeout.",
      above(0.0));
    generation.describe(f);
  }
};

std::vector<Prompt> read_eval_prompts(const EvalConfig& config, const LoadedModel& model) {
  if (!model.tokenizer) {
    throw FormatError(str(config.generation.model, ": has no tokenizer.json, which evaluation needs"));
  }
  auto prompts =
      read_prompts(config.input, text_format(*model.tokenizer, config.generation.model, present_time()));
  check_prompts(prompts, model.decoder->config());
  return prompts;
}

/// The table of the file or, without one, the type with the flags.
RewardConfig chosen_reward(const EvalConfig& config) {
  if (config.reward_config.empty()) {
    return {.name = config.reward,
            .command = config.command,
            .function = config.function,
            .timeout_s = config.timeout_s};
  }
  if (!config.command.empty() || !config.function.empty() || config.timeout_s)
    throw ConfigError(
        "--command, --function and --timeout_s have no effect with --reward_config; set them there");
  return choose_rewards(config.reward, config.reward_config).front();
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json to_json(const EvalConfig& config, const Evaluation& evaluation) {
  const RewardEvaluation& reward = evaluation.rewards.front();
  Json pass_at = Json::object(), statuses = Json::object();
  for (const auto& [k, value] : reward.pass_at) pass_at[std::to_string(k)] = value;
  for (int64_t status = 0; status < kNumRewardStatuses; ++status) {
    statuses[to_string(static_cast<RewardStatus>(status))] = reward.status_counts[status];
  }
  const double stopped =
      static_cast<double>(evaluation.num_stopped) / static_cast<double>(evaluation.num_completions);
  return {
      {"model", config.generation.model},
      {"input", config.input},
      {"reward", config.reward},
      {"num_prompts", evaluation.num_prompts},
      {"num_generations", config.generation.num_generations},
      {"temperature", config.generation.temperature},
      {"seed", config.generation.seed},
      {"mean", number_or_null(reward.mean)},
      {"pass@k", pass_at},
      {"lengths",
       {{"mean", evaluation.mean_length}, {"min", evaluation.min_length}, {"max", evaluation.max_length}}},
      {"finish_reasons",
       {{to_string(FinishReason::kStop), stopped}, {to_string(FinishReason::kLength), 1.0 - stopped}}},
      {"reward_statuses", statuses}};
}

}  // namespace

int eval_command(const Command& self, const Arguments& arguments) {
  EvalConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.generation.model, "model");
  require(config.input, "input");
  require(config.reward, "reward");
  require(config.output, "output");
  check_output(config.output);
  RewardScorer scorer({chosen_reward(config)}, all_rewards({config.generation.model, present_time()}));
  const LoadedModel model = load_model(config.generation);
  const std::vector<Prompt> prompts = read_eval_prompts(config, model);
  log_ignored_sampling_defaults(config.generation.model);
  plan_length(model, prompts, config.generation);
  Sampler sampler(*model.decoder, model.tokenizer.get(), config.generation.cache_tokens);
  const Evaluation evaluation =
      evaluate(sampler, prompts, config.generation.num_generations, sampling_params(config.generation, model),
               scorer, rollout_address(config.generation));
  const Json result = to_json(config, evaluation);
  write_result(config.output, result);
  std::cout << "mean " << result["mean"] << ", pass@k " << result["pass@k"] << ", lengths "
            << result["lengths"] << "\n";
  return 0;
}

}  // namespace cohort::cli
