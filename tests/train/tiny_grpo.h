// Runs of GRPO with a tiny policy, for tests: prompts that are counted and a reward that is a function.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cohort/train/grpo/grpo_trainer.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {

/// Prompts "0", "1", "2", ... of the domains "even" and "odd", with a demonstration each.
class CountedPrompts : public PromptSource {
 public:
  static Prompt at(int64_t index) {
    const Json fields = {{"domain", index % 2 == 0 ? "even" : "odd"}, {"demonstration", "abc"}};
    return {std::to_string(index), {5, static_cast<int32_t>(10 + index)}, "text", fields};
  }
  std::vector<Prompt> next(int64_t count) override {
    if (on_next) on_next();
    std::vector<Prompt> prompts;
    for (int64_t i = 0; i < count; ++i) prompts.push_back(at(next_++));
    return prompts;
  }
  double epoch() const override { return 0.0; }
  Json save() const override { return next_; }
  void load(const Json& state) override { next_ = state.get<int64_t>(); }

  std::function<void()> on_next;

 private:
  int64_t next_ = 0;
};

using Judge = std::function<RewardResult(const Prompt& prompt, const Completion& completion)>;

/// One type of reward.
inline RewardTypes judged_by(Judge judge, const char* name = "mine") {
  class JudgeReward : public Reward {
   public:
    explicit JudgeReward(Judge judge) : judge_(std::move(judge)) {}
    RewardResult score(const Prompt& prompt, const Completion& completion) override {
      return judge_(prompt, completion);
    }

   private:
    Judge judge_;
  };
  return {{name, "a test's", {[judge = std::move(judge)](const RewardConfig&) {
             return std::make_unique<JudgeReward>(judge);
           }}}};
}

/// A reward by the places of prompt and completion.
using Score = std::function<double(int64_t prompt, int64_t sample)>;

inline RewardTypes scored_by(Score score) {
  return judged_by([score = std::move(score)](const Prompt& prompt, const Completion& completion) {
    return RewardResult{score(std::stoll(prompt.id), completion.sample), RewardStatus::kOk, ""};
  });
}

/// The share of a completion's token ids that are even.
inline RewardResult even_share(const Prompt& prompt, const Completion& completion) {
  (void)prompt;
  double even = 0.0;
  for (const int32_t id : completion.token_ids) even += id % 2 == 0 ? 1.0 : 0.0;
  return {even / static_cast<double>(completion.token_ids.size()), RewardStatus::kOk, ""};
}

/// Two prompts a step, four completions each, of up to five tokens, judged by "mine". A fifth of the
/// vocabulary ends a completion.
inline TrainConfig tiny_grpo_config() {
  TrainConfig config;
  config.seed = 9;
  config.rollout.prompts_per_step = 2;
  config.rollout.num_generations = 4;
  config.rollout.max_completion_length = 5;
  for (int64_t id = 0; id < 300; id += 5) config.rollout.stop_token_ids.push_back(id);
  config.reward = {{.name = "mine"}};
  config.optimizer.learning_rate = 1e-3;
  config.optimizer.lr_scheduler_type = "constant";
  return config;
}

/// A token is a character.
inline SftFormat character_format() {
  SftFormat format;
  format.text.tokenize = [](const std::string& s) { return std::vector<int32_t>(s.begin(), s.end()); };
  format.text.tokenize_rendered = format.text.tokenize;
  format.eos_id = 0;
  return format;
}

/// A run of `config`, with a reference a little off the policy, a critic and demonstrations where the
/// objective asks for them.
struct TinyGrpo {
  explicit TinyGrpo(TrainConfig settings, const RewardTypes& types = judged_by(even_share))
      : config(std::move(settings)),
        scorer(config.reward, types),
        optimizer(policy->parameters(), config.optimizer) {
    const ObjectiveSettings objective = resolved(config.objective, config.rollout.max_completion_length);
    if (needs_reference(objective)) {
      reference = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
      const at::NoGradGuard no_grad;
      for (const at::Tensor& weight : reference->parameters()) weight.mul_(0.98);
      reference->refresh();
    }
    if (needs_critic(objective))
      critic = std::make_unique<Critic>(config.critic_setup(), *policy, kNumUpdates);
    const bool has_demonstrations = config.objective.control.use_demonstrations;
    trainer = std::make_unique<GrpoTrainer>(config, kNumUpdates, *policy, reference.get(), critic.get(),
                                            nullptr, prompts, scorer, optimizer,
                                            has_demonstrations ? &demonstration_format : nullptr);
  }

  /// Copies of the policy's parameters.
  std::vector<at::Tensor> weights() const {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& weight : policy->parameters()) copies.push_back(weight.detach().clone());
    return copies;
  }

  static constexpr int64_t kNumUpdates = 20;
  const ThreadCount one_thread{1};
  TrainConfig config;
  const SftFormat demonstration_format = character_format();
  std::unique_ptr<Decoder> policy = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  std::unique_ptr<Decoder> reference;
  std::unique_ptr<Critic> critic;
  CountedPrompts prompts;
  RewardScorer scorer;
  AdamW optimizer;
  std::unique_ptr<GrpoTrainer> trainer;
};

inline bool are_equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}

}  // namespace cohort
