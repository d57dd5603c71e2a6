// cohort eval: how good a model is at the prompts of a file.
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "apps/cli/command.h"
#include "apps/cli/generation.h"
#include "apps/cli/reward_tables.h"
#include "apps/cli/rows.h"
#include "cohort/agent/episode_setup.h"
#include "cohort/core/error.h"
#include "cohort/core/time_text.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/train/grpo/step_metrics.h"
#include "cohort/train/run/evaluation.h"
#include "cohort/train/run/generation_defaults.h"
#include "cohort/train/run/run_data.h"

namespace cohort::cli {
namespace {

struct EvalConfig {
  GenerationConfig generation;
  std::string input, output, reward, reward_config, function;
  std::map<std::string, std::string> columns;
  bool log_completions = true;
  std::vector<std::string> command;
  std::optional<double> timeout_s;

  void describe(FieldVisitor& f) {
    f("input", input, "JSONL with a `prompt` per line; other columns reach the rewards.");
    f("columns", columns,
      "Columns under other names, such as prompt=question: the name here, then the file's.");
    f("output", output,
      "JSON: mean reward, pass@k, cons@k (majority vote), lengths, finish reasons, statuses. A reward of 1 "
      "is "
      "a success.");
    f("log_completions", log_completions,
      "Write what was sampled and how it was judged beside `output`, as NAME.completions.jsonl.");
    f("reward", reward,
      "What judges a completion: a reward with its defaults, or one table of `reward_config`; all of its "
      "tables "
      "when empty.");
    f("reward_config", reward_config,
      "TOML with `[[reward]]` tables, such as a recipe of `cohort train`; its `[environment]` and `[[tool]]` "
      "tables "
      "act, too.");
    f("command", command,
      "For `command`: a program that answers one JSON line with one JSON line, as a text that /bin/sh runs; "
      "given several times, the words of a program and its arguments.");
    f("function", function, "For `python`: \"FILE.py:NAME\" or \"MODULE:NAME\".");
    f("timeout_s", timeout_s,
      "For `command` and `python`: seconds for one request, 10 when unset; later answers count as timeout.",
      above(0.0));
    generation.describe(f);
  }

  void settle() const { generation.settle(); }
};

/// Opens the episodes, whose tools the prompts name.
std::vector<Prompt> read_eval_prompts(const EvalConfig& config, const LoadedModel& model,
                                      EpisodeSetup& episodes) {
  if (!model.tokenizer) {
    throw FormatError(str(config.generation.model, ": has no tokenizer.json, which evaluation needs"));
  }
  TextFormat format =
      text_format(*model.tokenizer, config.generation.model, present_time(), config.generation.text);
  format.tools = episodes.tools();
  episodes.open(format, *model.tokenizer, model.decoder->config(), sampling_params(config.generation, model));
  auto prompts = read_prompts(config.input, format, config.columns);
  check_prompts(prompts, model.decoder->config());
  return prompts;
}

/// The tables of the file or, without one, the type with the flags.
JudgedEpisodes chosen_episodes(const EvalConfig& config) {
  JudgedEpisodes chosen = choose_episodes(config.reward, config.reward_config);
  if (config.reward_config.empty()) {
    FieldTable& keys = chosen.rewards.front().keys;
    keys["command"] = config.command;
    keys["function"] = config.function;
    keys["timeout_s"] = config.timeout_s;
  } else if (!config.command.empty() || !config.function.empty() || config.timeout_s) {
    throw ConfigError(
        "--command, --function and --timeout_s have no effect with --reward_config; set them there");
  }
  return chosen;
}

Json number_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json shares(const std::map<int64_t, double>& by_k) {
  Json json = Json::object();
  for (const auto& [k, value] : by_k) json[std::to_string(k)] = value;
  return json;
}

Json to_json(const RewardEvaluation& reward) {
  Json json{{"mean", number_or_null(reward.mean)}, {"pass@k", shares(reward.pass_at)}};
  if (!reward.cons_at.empty()) json["cons@k"] = shares(reward.cons_at);
  Json& statuses = json["reward_statuses"] = Json::object();
  for (int64_t status = 0; status < kNumRewardStatuses; ++status)
    statuses[to_string(static_cast<RewardStatus>(status))] = reward.status_counts[status];
  return json;
}

/// The figures of the only reward, or for several those of each and the mean of their weighted sum.
Json to_json(const EvalConfig& config, const std::string& model, const Evaluation& evaluation) {
  const double stopped =
      static_cast<double>(evaluation.num_stopped) / static_cast<double>(evaluation.num_completions);
  Json json{
      {"model", model},
      {"input", config.input},
      {"num_prompts", evaluation.num_prompts},
      {"num_generations", config.generation.num_generations},
      {"temperature", config.generation.temperature},
      {"seed", config.generation.seed},
      {"lengths",
       {{"mean", evaluation.mean_length}, {"min", evaluation.min_length}, {"max", evaluation.max_length}}},
      {"finish_reasons",
       {{to_string(FinishReason::kStop), stopped}, {to_string(FinishReason::kLength), 1.0 - stopped}}}};
  if (evaluation.rewards.size() == 1) {
    json["reward"] = evaluation.rewards.front().name;
    json.update(to_json(evaluation.rewards.front()));
    return json;
  }
  json["mean"] = number_or_null(evaluation.mean_reward);
  for (const RewardEvaluation& reward : evaluation.rewards) json["rewards"][reward.name] = to_json(reward);
  return json;
}

/// NAME.completions.jsonl beside a NAME.json that is a file; nothing beside /dev/null and the like.
std::optional<std::string> completions_path(const EvalConfig& config) {
  namespace fs = std::filesystem;
  const fs::path output = config.output;
  const bool is_file = !fs::exists(output) || fs::is_regular_file(fs::symlink_status(output));
  if (!config.log_completions || !is_file) return std::nullopt;
  std::string path = (output.parent_path() / output.stem()).string() + ".completions.jsonl";
  if (fs::exists(path) && fs::equivalent(path, config.input))
    throw ConfigError(str("--input: ", path, " is what --log-completions writes: name another --output"));
  return path;
}

void write_group(const Group& group, const std::vector<std::string>& reward_names, JsonlWriter& file) {
  for (const Sample& sample : group.samples) {
    const Completion& completion = sample.completion;
    Json row = {{"prompt_id", group.prompt.id},
                {"sample", completion.sample},
                {"prompt", group.prompt.text},
                {"completion", completion.text},
                {"finish_reason", to_string(completion.finish_reason)},
                {"rewards", reward_cells(reward_names, sample.rewards)},
                {"prompt_ids", group.prompt.token_ids},
                {"completion_ids", completion.token_ids}};
    add_episode(completion, row);
    file.write(row);
  }
}

/// What a reward said of all completions.
struct Judgements {
  int64_t num_ok = 0;
  int64_t num_failed = 0;
  std::string last_failure;

  void add(const RewardResult& result) {
    if (result.status == RewardStatus::kSkipped) return;
    const bool is_ok = result.status == RewardStatus::kOk;
    ++(is_ok ? num_ok : num_failed);
    if (!is_ok) last_failure = str(to_string(result.status), ", ", result.detail);
  }
};

/// Figures of a reward that judged nothing are no evaluation.
void check_judged(const std::vector<Judgements>& judgements, const Evaluation& evaluation,
                  const std::string& output) {
  bool is_judged = false;
  for (size_t i = 0; i < judgements.size(); ++i) {
    const Judgements& each = judgements[i];
    is_judged |= each.num_ok > 0;
    if (each.num_ok > 0 || each.num_failed == 0) continue;
    const std::string failure = each.last_failure.substr(0, each.last_failure.find('\n'));
    throw UserError(str("reward ", evaluation.rewards[i].name, " failed on all ", each.num_failed,
                        " completions; the last one: ", failure, "; ", output, " holds no figures of it"));
  }
  if (!is_judged) {
    throw UserError(
        str("every reward skipped all ", evaluation.num_completions,
            " completions: check `domains` of the [[reward]] tables, and functions that return None"));
  }
}

void print_figures(const Json& result) {
  std::cout << "mean " << result["mean"];
  if (result.contains("pass@k")) std::cout << ", pass@k " << result["pass@k"];
  if (result.contains("cons@k")) std::cout << ", cons@k " << result["cons@k"];
  std::cout << ", lengths " << result["lengths"] << "\n";
  if (!result.contains("rewards")) return;
  for (const auto& [name, reward] : result["rewards"].items())
    std::cout << name << ": mean " << reward["mean"] << ", pass@k " << reward["pass@k"] << "\n";
}

}  // namespace

int eval_command(const Command& self, const Arguments& arguments) {
  EvalConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.generation.model, "model");
  require(config.input, "input");
  const JudgedEpisodes chosen = chosen_episodes(config);
  EpisodeSetup episodes(make_environment(chosen.environment, chosen.tools), chosen.environment, chosen.agent);
  std::vector<RewardConfig> rewards = chosen.rewards;
  episodes.add_reward(rewards);
  require(config.output, "output");
  check_output(config.output);
  const std::string given_model = config.generation.model;
  resolve_model(config.generation);
  RewardScorer scorer(rewards, all_rewards({config.generation.model, present_time()}));
  const LoadedModel model = load_model(config.generation);
  const std::vector<Prompt> prompts = read_eval_prompts(config, model, episodes);
  log_ignored_sampling_defaults(config.generation.model);
  SamplingParams params = sampling_params(config.generation, model);
  params.max_turn_length = chosen.environment.max_turn_length.value_or(params.max_turn_length);
  check_room(model, prompts, config.generation);
  plan_length(model, prompts, config.generation);
  Sampler sampler(*model.decoder, model.tokenizer.get(), config.generation.cache_tokens);
  const std::optional<std::string> path = completions_path(config);
  std::unique_ptr<JsonlWriter> completions;  // opened when nothing can be refused any more
  std::vector<Judgements> judgements(rewards.size());
  const auto on_group = [&](const Group& group) {
    for (const Sample& sample : group.samples) {
      check_finite(sample.completion.sampler_logprobs, given_model);
      for (size_t r = 0; r < judgements.size(); ++r) judgements[r].add(sample.rewards[r]);
    }
    if (!path) return;
    if (!completions) completions.reset(new JsonlWriter(open_output(*path)));
    write_group(group, scorer.names(), *completions);
  };
  const Evaluation evaluation = evaluate(sampler, prompts, config.generation.num_generations, params, scorer,
                                         rollout_address(config.generation), on_group, episodes.turns());
  if (completions) completions->flush();
  const Json result = to_json(config, given_model, evaluation);
  write_result(config.output, result);
  print_figures(result);
  check_judged(judgements, evaluation, config.output);
  return 0;
}

}  // namespace cohort::cli
