#include "cohort/train/adversarial/adversarial_config.h"

#include <algorithm>

#include "cohort/reward_models/all_rewards.h"  // describes RewardConfig
#include "cohort/train/run/lora_start.h"
#include "libs/common/random.h"

namespace cohort {

void PolicyConfig::describe_policy(FieldVisitor& f) {
  f("adapter", adapter, "An adapter that the policy begins with; empty begins with a new one.",
    OnResume::kSameFiles);
  f("rollout", recipe.rollout, "How its completions are drawn.");
  f("reward", recipe.reward, "A reward function of this policy; the table is given once for each.");
  f("objective", recipe.objective, "From its rewards to its loss.");
  f("optimizer", recipe.optimizer, "AdamW and the schedule over the steps that train this policy.");
}

void DefenderConfig::describe(FieldVisitor& f) {
  f("max_prompt_length", max_prompt_length,
    "Longest prompt, in tokens, that an attack makes; a longer one is an error.", at_least(1));
  f("environment", recipe.environment, "What it acts in, turn by turn; rows have the column `attack`.");
  f("tool", recipe.tool, "A tool that it may call; the table is given once for each.");
  describe_policy(f);
}

void AdversarialDataConfig::describe(FieldVisitor& f) {
  describe_path(
      f,
      "`prompt` of the attacker and `defender_prompt`, in which {attack} stands for the attack, per "
      "line; other columns reach the rewards");
  describe_rows(f, "Share of the prompts, chosen by hash, that is left out; adding rows moves none.");
}

void AdversarialLoopConfig::describe(FieldVisitor& f) {
  describe_length(f);
  f("alternate_steps", alternate_steps,
    "Steps that train one policy while the other is frozen, the attacker first; 0 trains both in each step.",
    at_least(0));
  describe_memory(f,
                  "Rows (tokens) forwarded and backpropagated at once, at most; 0: 2,560, which groups share "
                  "while their activations take at most half a GiB.",
                  at_least(0));
  f("log_completions", log_completions, "Write every completion to completions.jsonl.", OnResume::kTaken);
  describe_saving(f);
}

void AdversarialConfig::describe(FieldVisitor& f) {
  describe_model_sections(f, *this);
  f("data", data, "What the games begin with.");
  f("attacker", attacker, "The policy that moves first. Its completion is an attack.");
  f("defender", defender, "The policy that answers each attack with a group of its own.");
  f("train", train, "The loop: its length, memory and checkpoints.");
  f("run", run, "Where results go.");
}

void AdversarialConfig::apply_presets(const AdversarialConfig& given) {
  attacker.recipe.apply_preset(given.attacker.recipe);
  defender.recipe.apply_preset(given.defender.recipe);
  for (const std::string& adapter : {given.attacker.adapter, given.defender.adapter}) {
    if (adapter.empty()) continue;
    take_adapter_settings(lora, adapter);
    lora.path.clear();
    return;
  }
}

TrainConfig AdversarialConfig::recipe_of(PolicyRole role) const {
  const bool attacks = role == PolicyRole::kAttacker;
  const PolicyConfig& policy = attacks ? static_cast<const PolicyConfig&>(attacker) : defender;
  TrainConfig recipe = policy.recipe;
  recipe.model = model;
  recipe.lora = lora;
  recipe.lora.path = policy.adapter;
  static_cast<HeldOutRowsConfig&>(recipe.data) = data;
  static_cast<LoopKeys&>(recipe.train) = train;
  static_cast<RunKeys&>(recipe.run) = run;
  recipe.seed = seed;
  if (attacks) {
    const bool has_opponent = std::ranges::any_of(
        recipe.reward, [](const RewardConfig& reward) { return reward.kind() == "opponent"; });
    if (!has_opponent) recipe.reward.push_back({.name = "opponent"});
    return recipe;
  }
  recipe.seed = static_cast<int64_t>(random_bits(static_cast<uint64_t>(seed), {1}) >> 1);
  recipe.rollout.prompts_per_step =
      attacker.recipe.rollout.prompts_per_step * attacker.recipe.rollout.num_generations;
  return recipe;
}

bool AdversarialConfig::trains(PolicyRole role, int64_t step) const {
  if (train.alternate_steps == 0) return true;
  const bool attacks = (step - 1) / train.alternate_steps % 2 == 0;
  return attacks == (role == PolicyRole::kAttacker);
}

int64_t AdversarialConfig::steps_of(PolicyRole role, int64_t num_steps) const {
  int64_t count = 0;
  for (int64_t step = 1; step <= num_steps; ++step) count += trains(role, step);
  return count;
}

const std::string& AdversarialConfig::lr_scheduler_type() const {
  const std::string& of_attacker = attacker.recipe.optimizer.lr_scheduler_type;
  return of_attacker == "constant" ? defender.recipe.optimizer.lr_scheduler_type : of_attacker;
}

const char* to_string(PolicyRole role) { return role == PolicyRole::kAttacker ? "attacker" : "defender"; }

}  // namespace cohort
