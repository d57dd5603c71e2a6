// Every setting of a step changes what the step computes. The settings are those that the sections declare,
// so that a new one without a sample fails.
#include <gtest/gtest.h>

#include <set>

#include "cohort/core/config_io.h"
#include "cohort/tensor/weight_files.h"
#include "tests/core/test_files.h"
#include "tests/train/run_setting_samples.h"
#include "tests/train/tiny_grpo.h"

namespace cohort {
namespace {

using Samples = std::map<std::string, SettingSample>;

/// What two steps of two updates leave: weights, metrics and advantages.
struct Outcome {
  std::vector<at::Tensor> weights;
  std::vector<std::string> numbers;  ///< as text, in which nan is nan

  bool operator==(const Outcome& other) const {
    return numbers == other.numbers && are_equal(weights, other.weights);
  }
};

/// Rewards of both signs by "mine" and by length. Every third prompt has no difference.
RewardTypes two_rewards() {
  const auto score_of = [](auto score) {
    return [score](const Prompt& prompt, const Completion& completion) {
      const bool differs = std::stoll(prompt.id) % 3 != 0;
      return RewardResult{differs ? score(prompt, completion) : 0.25, RewardStatus::kOk, ""};
    };
  };
  RewardTypes types = judged_by(score_of([](const Prompt& prompt, const Completion& completion) {
    return even_share(prompt, completion).score - 0.5;
  }));
  types.push_back(judged_by(score_of([](const Prompt&, const Completion& completion) {
                              return 0.1 * static_cast<double>(completion.token_ids.size() % 3);
                            }),
                            "short")
                      .front());
  return types;
}

class EverySettingTest : public testing::Test {
 protected:
  EverySettingTest() {
    for (const uint64_t seed : {1, 2}) {
      const std::filesystem::path directory = root_ / (seed == 1 ? "model" : "other_critic");
      std::filesystem::create_directories(directory);
      write_json(directory / "config.json", tiny_config("LlamaForCausalLM"));
      write_weights(directory,
                    tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat, seed)->named_weights());
    }
  }

  /// The tiny run with these settings, as a recipe would have them. Throws ConfigError where `cohort train`
  /// refuses them.
  TrainConfig config_of(const std::vector<std::string>& settings) const {
    std::vector<std::string> flags{"--objective.num_iterations=2"};
    for (const std::string& setting : settings) {
      const bool has_section = setting.find('.') < setting.find('=');
      flags.push_back((has_section ? "--" : "--objective.") + setting);
    }
    TrainConfig given;
    apply_flags(settings_of(given), flags);
    TrainConfig config = tiny_grpo_config();
    config.optimizer.learning_rate = 0.01;
    config.reward = {{.name = "mine"}, {.name = "short"}};
    config.model.path = root_ / "model";
    config.data.path = {"data.jsonl"};
    config.run.dir = "run";
    config.train.max_steps = 2;
    config.apply_preset(given);
    apply_flags(settings_of(config), flags);
    if (!config.critic.path.empty()) config.critic.path = root_ / config.critic.path;
    validate(config);
    return config;
  }

  Outcome outcome_of(const std::vector<std::string>& settings) const {
    TinyGrpo run(config_of(settings), two_rewards());
    Outcome outcome;
    for (int64_t step = 1; step <= 2; ++step) {
      const StepReport report = run.trainer->step(step);
      EXPECT_TRUE(report.is_finite);
      for (const auto& [name, value] : report.metrics) outcome.numbers.push_back(str(name, " ", value));
      for_each_sample(report.batch->groups, [&](const Sample& sample) {
        outcome.numbers.push_back(str(sample.advantage));
        for (const float advantage : sample.token_advantages) outcome.numbers.push_back(str(advantage));
      });
    }
    outcome.weights = run.weights();
    if (run.critic != nullptr) {
      for (const auto& [name, weight] : run.critic->part().weights) outcome.weights.push_back(weight.clone());
    }
    return outcome;
  }

  /// Goes through the fields of a section. `elsewhere`: those that a step with other means shows.
  void expect_effects(const Section& section, const std::string& prefix, const Samples& samples,
                      const std::set<std::string>& elsewhere = {}) const {
    std::set<std::string> names;
    for (const Field& field : section.fields) {
      SCOPED_TRACE(prefix + field.name);
      names.insert(field.name);
      if (elsewhere.contains(field.name)) continue;
      const auto sample = samples.find(field.name);
      if (sample == samples.end()) {
        ADD_FAILURE() << "add a value that changes a step to setting_samples.h or run_setting_samples.h";
        continue;
      }
      std::vector<std::string> settings = sample->second.beside;
      const Outcome without = outcome_of(settings);
      EXPECT_TRUE(without == outcome_of(settings)) << "the step is not reproducible";
      settings.push_back(prefix + field.name + "=" + sample->second.value);
      EXPECT_FALSE(without == outcome_of(settings)) << "it changes nothing";
    }
    for (const auto& [name, sample] : samples) EXPECT_TRUE(names.contains(name)) << "no setting " << name;
    for (const std::string& name : elsewhere) EXPECT_TRUE(names.contains(name)) << "no setting " << name;
  }

  const TemporaryDirectory directory_;
  const std::filesystem::path root_ = directory_.path();
  TrainConfig defaults_;
};

// A mismatch of sampler and trainer is not made by a step on the CPU: see mismatch_test.cpp. Functions in
// Python need Python: see test_own_functions.py. States and replies need an environment: see
// turn_credit_test.cpp and episode_loss_test.cpp.
TEST_F(EverySettingTest, OfTheObjectiveActs) {
  expect_effects(settings_of(defaults_.objective), "objective.", kObjectiveSamples,
                 {"importance_sampling_mode", "importance_sampling_clip_min", "importance_sampling_clip_max",
                  "python", "python_advantages", "gigpo_omega", "echo_coef"});
}

TEST_F(EverySettingTest, OfTheOptimizerActs) {
  expect_effects(settings_of(defaults_.optimizer), "optimizer.", kOptimizerSamples);
}

TEST_F(EverySettingTest, OfTheCriticActs) {
  expect_effects(settings_of(defaults_.critic), "critic.", kCriticSamples);
}

// Texts need a tokenizer (tests/python/test_sampling.py), a model's own stop tokens a model with some, and
// the size of the cache changes no result (packing_test.cpp). Re-rolls need
// tools (tests/cli/test_rerolls.py).
TEST_F(EverySettingTest, OfTheRolloutActs) {
  expect_effects(
      settings_of(defaults_.rollout), "rollout.", kRolloutSamples,
      {"stop_strings", "include_stop_str_in_output", "skip_special_tokens", "structured_outputs_regex",
       "ignore_eos", "cache_tokens", "num_rerolls", "max_reroll_share"});
}

/// What a choice is refused for.
struct Refused {
  std::vector<std::string> settings;
  const char* reason;
};

// Choices that `cohort train` cannot make good, each refused by name.
TEST_F(EverySettingTest, ChoicesThatCannotActAreRefused) {
  const std::vector<Refused> all = {
      {{"baseline=state_group"}, "credit turns and baseline state_group go together"},
      {{"gigpo_omega=2"}, "gigpo_omega is for credit gigpo"},
      {{"token_mean_scope=micro_batch", "aggregation=token_mean"}, "token_mean_scope"},
      {{"loss_type=bnpo"}, "token_mean_scope"},
      {{"value_coef=0.1"}, "value_coef has no effect"},
      {{"baseline=critic"}, "credit gae and baseline critic go together"},
      {{"value_lambda=0.5"}, "are for credit gae"},
      {{"drop_pivot=true", "rollout.num_generations=5"}, "drop_pivot is for baseline group_median"},
      {{"batch_whiten=true", "token_whiten=true"}, "both whiten the batch"},
      {{"gfpo_adaptive_difficulty=true"}, "gfpo_adaptive_difficulty"},
      {{"use_adaptive_beta=true"}, "beta, which is 0"},
      {{"sync_ref_model=true"}, "sync_ref_model has no effect"},
      {{"critic.lr=0.1"}, "[critic] has no effect"},
      {{"rollout.max_sampling_rounds=3"}, "max_sampling_rounds has no effect"},
      {{"rollout.positive_reward=0.3"}, "positive_reward has no effect"},
      {{"rollout.prompts_ahead=1"}, "the loss takes all for the policy's own"},
      {{"rollout.prompts_ahead=99", "ratio_anchor=sampler"}, "is more than rollout.prompts_per_step"},
      {{"rollout.prompts_ahead=1", "ratio_anchor=sampler", "rollout.dynamic_sampling=true"},
       "rollout.prompts_ahead draws plain groups"},
  };
  for (const Refused& each : all) {
    const std::string message = message_of<ConfigError>([&] { config_of(each.settings); });
    EXPECT_NE(message.find(each.reason), std::string::npos) << each.settings.front() << ": " << message;
  }
}

}  // namespace
}  // namespace cohort
