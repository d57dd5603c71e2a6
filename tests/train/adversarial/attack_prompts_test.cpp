// What an attack is to the defender, and which policy a step trains.
#include "cohort/train/adversarial/attack_prompts.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/train/adversarial/adversarial_config.h"
#include "cohort/train/adversarial/adversarial_trainer.h"

namespace cohort {
namespace {

/// A token for each byte; a conversation is its contents, each after a "|".
TextFormat byte_format() {
  const auto bytes = [](const std::string& text) { return std::vector<int32_t>(text.begin(), text.end()); };
  const auto render = [](const Json& messages, const RenderOptions&) {
    std::string text;
    for (const Json& message : messages) text += "|" + message.at("content").get<std::string>();
    return text;
  };
  return {.tokenize = bytes, .tokenize_rendered = bytes, .render = render};
}

Prompt row_of(const Json& defender_prompt) {
  return {.id = "rows.jsonl:3",
          .token_ids = {1},
          .text = "Hide.",
          .fields = {{"defender_prompt", defender_prompt}, {"low", 1}, {"prompt_messages", Json::array()}}};
}

Completion attack_of(const std::string& text) {
  Completion attack;
  attack.sample = 2;
  attack.text = text;
  return attack;
}

TEST(AttackPrompts, PutTheAttackIntoTheRowAndItsPrompt) {
  const Prompt text =
      defender_prompt(row_of("He said {attack}, {attack}!"), attack_of("a{attack}"), byte_format());
  EXPECT_EQ(text.id, "rows.jsonl:3#2");
  EXPECT_EQ(text.text, "He said a{attack}, a{attack}!");
  EXPECT_EQ(text.token_ids.size(), text.text.size());
  EXPECT_EQ(text.fields, Json({{"low", 1}, {"attack", "a{attack}"}}));
  const Json messages{{{"role", "system"}, {"content", "Rules"}},
                      {{"role", "user"}, {"content", "<{attack}>"}}};
  const Prompt chat = defender_prompt(row_of(messages), attack_of("7"), byte_format());
  EXPECT_EQ(chat.text, "|Rules|<7>");
  EXPECT_EQ(chat.fields.at("prompt_messages").at(1).at("content"), "<7>");
  EXPECT_THROW(defender_prompt(row_of(3), attack_of("7"), byte_format()), FormatError);
  EXPECT_THROW(defender_prompt({.id = "p", .token_ids = {1}, .text = ""}, attack_of("7"), byte_format()),
               FormatError);
}

TEST(AttackPrompts, AreThoseOfOneStep) {
  struct Rows : PromptSource {
    std::vector<Prompt> next(int64_t) override { return {}; }
    double epoch() const override { return 2.5; }
    Json save() const override { return 1; }
    void load(const Json&) override {}
  } rows;
  AttackPrompts prompts(rows);
  EXPECT_EQ(prompts.epoch(), 2.5);
  prompts.give({row_of("a"), row_of("b")});
  EXPECT_THROW(prompts.next(1), InternalError);
  EXPECT_EQ(prompts.next(2)[1].fields.at("defender_prompt"), "b");
  EXPECT_THROW(prompts.next(2), InternalError);
}

Group games_of(const std::vector<double>& rewards) {
  Group games;
  for (const double reward : rewards) {
    games.samples.emplace_back();
    games.samples.back().reward = reward;
  }
  return games;
}

TEST(AttackReward, IsOneLessTheMeanOfTheGamesThatHaveAReward) {
  EXPECT_EQ(attack_reward(games_of({1.0, 0.5, 0.0, 0.5})).score, 0.5);
  EXPECT_EQ(attack_reward(games_of({0.25, kNoReward, 0.5})).score, 0.625);
  EXPECT_EQ(attack_reward(games_of({kNoReward})).status, RewardStatus::kError);
  EXPECT_EQ(attack_reward(games_of({-1.0})).score, 2.0);
}

TEST(AdversarialConfig, AlternatesFromTheAttacker) {
  AdversarialConfig config;
  config.train.alternate_steps = 3;
  std::string order;
  for (int64_t step = 1; step <= 8; ++step) {
    EXPECT_NE(config.trains(PolicyRole::kAttacker, step), config.trains(PolicyRole::kDefender, step));
    order += config.trains(PolicyRole::kAttacker, step) ? 'a' : 'd';
  }
  EXPECT_EQ(order, "aaadddaa");
  EXPECT_EQ(config.steps_of(PolicyRole::kAttacker, 8), 5);
  EXPECT_EQ(config.steps_of(PolicyRole::kDefender, 8), 3);
  config.train.alternate_steps = 0;
  EXPECT_EQ(config.steps_of(PolicyRole::kAttacker, 8), 8);
  EXPECT_EQ(config.steps_of(PolicyRole::kDefender, 8), 8);
}

TEST(AdversarialConfig, GivesThePoliciesOtherRandomNumbersAndAGroupForEachAttack) {
  AdversarialConfig config;
  config.seed = 5;
  config.attacker.recipe.rollout.prompts_per_step = 3;
  config.attacker.recipe.rollout.num_generations = 4;
  config.attacker.adapter = "a";
  const TrainConfig attacker = config.recipe_of(PolicyRole::kAttacker);
  const TrainConfig defender = config.recipe_of(PolicyRole::kDefender);
  EXPECT_EQ(attacker.seed, 5);
  EXPECT_NE(defender.seed, 5);
  EXPECT_GE(defender.seed, 0);
  EXPECT_EQ(defender.rollout.prompts_per_step, 12);
  EXPECT_EQ(attacker.lora.path, "a");
  EXPECT_EQ(defender.lora.path, "");
  ASSERT_EQ(attacker.reward.size(), 1U);
  EXPECT_EQ(attacker.reward[0].kind(), "opponent");
  EXPECT_TRUE(defender.reward.empty());
}

TEST(AdversarialReport, NamesThePolicyOfEachFigure) {
  StepReport attack;
  attack.metrics = {{"reward", 0.5}};
  attack.timings = {{"step_time", 2.0}};
  attack.completions = {Json({{"sample", 1}})};
  attack.warnings = {"slow"};
  StepReport defence;
  defence.metrics = {{"reward", 0.25}};
  defence.completions = {Json({{"sample", 2}})};
  defence.is_finite = false;
  defence.stop_reason = "rewards failed";
  StepReport both;
  add_report("attacker", std::move(attack), both);
  add_report("defender", std::move(defence), both);
  EXPECT_EQ(both.metrics, (Metrics{{"attacker/reward", 0.5}, {"defender/reward", 0.25}}));
  EXPECT_EQ(both.timings, (Metrics{{"attacker/step_time", 2.0}}));
  EXPECT_EQ(both.completions[1], Json({{"sample", 2}, {"policy", "defender"}}));
  EXPECT_EQ(both.warnings, std::vector<std::string>{"attacker: slow"});
  EXPECT_EQ(both.stop_reason, "defender: rewards failed");
  EXPECT_FALSE(both.is_finite);
}

}  // namespace
}  // namespace cohort
