// The composition of advantages against the formulas as plain loops, by identities, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_algebra.h"
#include "tests/objectives/advantage_examples.h"

namespace cohort {
namespace {

/// Two groups of four with everything that a setting may read; the second one's rewards are all the same.
AdvantageInput full_input() {
  AdvantageInput input;
  input.rewards = doubles({1, 0, 0, 0.5, 0.7, 0.7, 0.7, 0.7});
  input.group_ends = {4, 8};
  input.lengths = {2, 1, 3, 1, 1, 2, 1, 4};
  const at::Tensor tokens = at::arange(15, at::kDouble);
  input.entropies = 0.1 + (tokens * 0.7).sin().square();
  input.old_logprobs = -0.2 - (tokens * 0.3).cos().square();
  input.ref_logprobs = -0.3 - (tokens * 0.5).sin().square();
  input.values = (tokens * 0.9).sin() * 0.5;
  input.greedy_rewards = doubles({0.5, 0.7});
  input.forks.assign(8, {});
  input.is_truncated.assign(8, 0);
  return input;
}

/// The same completions in another order: `order` lists whole groups' completions.
AdvantageInput reordered(const AdvantageInput& input, const std::vector<int64_t>& order) {
  AdvantageInput result = input;
  std::vector<int64_t> starts{0}, tokens;
  for (const int64_t length : input.lengths) starts.push_back(starts.back() + length);
  for (size_t i = 0; i < order.size(); ++i) {
    result.lengths[i] = input.lengths[order[i]];
    for (int64_t t = starts[order[i]]; t < starts[order[i] + 1]; ++t) tokens.push_back(t);
  }
  const at::Tensor rows = at::tensor(order, at::kLong), columns = at::tensor(tokens, at::kLong);
  result.rewards = input.rewards.index_select(0, rows);
  for (at::Tensor AdvantageInput::* member : {&AdvantageInput::entropies, &AdvantageInput::old_logprobs,
                                              &AdvantageInput::ref_logprobs, &AdvantageInput::values}) {
    result.*member = (input.*member).index_select(0, columns);
  }
  return result;
}

/// What the plain loops below compute of scores in groups.
struct PlainScores {
  std::vector<double> values{};              // 0 where there is no score
  std::vector<uint8_t> has_no_difference{};  // per group
};

double plain_mean(const std::vector<double>& scores) {
  return std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
}

/// Bessel-corrected; 0 for fewer than two scores.
double plain_deviation(const std::vector<double>& scores) {
  if (scores.size() < 2) return 0.0;
  double squares = 0.0;
  for (const double score : scores) squares += std::pow(score - plain_mean(scores), 2);
  return std::sqrt(squares / static_cast<double>(scores.size() - 1));
}

std::vector<double> those_there_are(const std::vector<double>& scores, int64_t begin, int64_t end) {
  std::vector<double> present;
  for (int64_t i = begin; i < end; ++i) {
    if (!std::isnan(scores[i])) present.push_back(scores[i]);
  }
  return present;
}

/// GRPO's formula: (r - mean(group)) / (std + 1e-4), where `scale` chooses the std of the group, that of the
/// batch, or none (arXiv:2402.03300 section 4.1.2, arXiv:2503.20783).
PlainScores plain_scores(const std::vector<double>& rewards, const std::vector<int64_t>& ends,
                         const std::string& scale) {
  PlainScores result{std::vector<double>(rewards.size(), 0.0), {}};
  const double batch_deviation = plain_deviation(those_there_are(rewards, 0, std::ssize(rewards)));
  int64_t begin = 0;
  for (const int64_t end : ends) {
    const std::vector<double> group = those_there_are(rewards, begin, end);
    const bool differs = std::ranges::any_of(group, [&](double reward) { return reward != group.front(); });
    result.has_no_difference.push_back(!differs);
    const double deviation = scale == "group" ? plain_deviation(group) : batch_deviation;
    for (int64_t i = begin; i < end; ++i) {
      if (!differs || std::isnan(rewards[i])) continue;
      result.values[i] = (rewards[i] - plain_mean(group)) / (scale == "none" ? 1.0 : deviation + 1e-4);
    }
    begin = end;
  }
  return result;
}

TEST(AdvantageIdentity, DefaultsAreThePlainFormula) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int> score(-1, 2);
  for (const std::string scale : {"group", "batch", "none"}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<double> rewards;
      for (int i = 0; i < 15; ++i) {
        const double reward = 0.1 * score(random);
        rewards.push_back(score(random) < 2 ? reward : kNoScore);
      }
      const std::vector<int64_t> ends{4, 9, 10, 15};
      const PlainScores expected = plain_scores(rewards, ends, scale);
      AdvantageConfig config;
      config.scale_rewards = scale;
      const AdvantageOutput output = advantages_of({.rewards = doubles(rewards), .group_ends = ends}, config);
      expect_advantages(output.values, expected.values);
      EXPECT_EQ(output.has_no_difference, expected.has_no_difference);
      const std::vector<double> present = those_there_are(rewards, 0, 15);
      EXPECT_NEAR(output.reward_mean, plain_mean(present), 1e-12);
      EXPECT_NEAR(output.reward_std, plain_deviation(present), 1e-12);
      EXPECT_EQ(output.frac_reward_zero_std,
                static_cast<double>(std::ranges::count(expected.has_no_difference, 1)) / 4.0);
      EXPECT_FALSE(output.is_per_token);
      EXPECT_TRUE(output.is_kept.all().item<bool>());
    }
  }
}

/// A completion's steps: how many of its tokens each one ends with, and its reward.
struct PlainSteps {
  std::vector<int64_t> num_tokens{};
  std::vector<double> scores{};
};

/// A_t = sum over the steps j with end_j > t of (r_j - mean(R)) / (std(R) + 1e-4), where R holds all steps of
/// the group (arXiv:2402.03300 section 4.1.3), plus the advantage of the outcome.
PlainScores plain_step_advantages(const std::vector<PlainSteps>& completions,
                                  const std::vector<double>& outcomes, const std::vector<int64_t>& lengths,
                                  const std::vector<int64_t>& ends, const std::string& scale) {
  std::vector<double> scores;
  std::vector<int64_t> step_ends;
  for (int64_t i = 0; i < std::ssize(completions); ++i) {
    scores.insert(scores.end(), completions[i].scores.begin(), completions[i].scores.end());
    if (std::ranges::count(ends, i + 1) > 0) step_ends.push_back(std::ssize(scores));
  }
  const PlainScores steps = plain_scores(scores, step_ends, scale);
  const PlainScores outcome = plain_scores(outcomes, ends, scale);
  PlainScores result;
  size_t first = 0;
  for (size_t i = 0; i < completions.size(); ++i) {
    const size_t num_steps = completions[i].scores.size();
    for (int64_t t = 0; t < lengths[i]; ++t) {
      double sum = outcome.values[i];
      for (size_t k = 0; k < num_steps; ++k) {
        if (completions[i].num_tokens[k] > t) sum += steps.values[first + k];
      }
      result.values.push_back(sum);
    }
    first += num_steps;
  }
  for (size_t g = 0; g < ends.size(); ++g)
    result.has_no_difference.push_back(steps.has_no_difference[g] && outcome.has_no_difference[g]);
  return result;
}

TEST(AdvantageIdentity, StepsAndOutcomesAreThePlainFormula) {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<int> score(0, 3), count(0, 3), length(0, 6);
  for (int round = 0; round < 30; ++round) {
    const std::vector<int64_t> ends{3, 6};
    std::vector<PlainSteps> completions(6);
    std::vector<double> outcomes;
    AdvantageInput input{.group_ends = ends};
    input.rewards = at::full({6, 3}, kNoScore, at::kDouble);
    input.step_ends = at::full({6, 3}, -1, at::kLong);
    for (int i = 0; i < 6; ++i) {
      input.lengths.push_back(length(random));
      outcomes.push_back(score(random) > 0 ? 0.5 * score(random) : kNoScore);
      const int num_steps = count(random);
      for (int k = 0; k < num_steps; ++k) {
        const int64_t end = 2 * k + 1;  // one behind the step's last token
        completions[i].num_tokens.push_back(end);
        completions[i].scores.push_back(0.25 * score(random));
        input.rewards[i][k] = completions[i].scores.back();
        input.step_ends[i][k] = end - 1;
      }
    }
    for (const bool has_outcomes : {false, true}) {
      if (has_outcomes) input.outcome_rewards = doubles(outcomes);
      const std::vector<double> judged = has_outcomes ? outcomes : std::vector<double>(6, kNoScore);
      for (const std::string scale : {"group", "batch", "none"}) {
        const PlainScores expected = plain_step_advantages(completions, judged, input.lengths, ends, scale);
        AdvantageConfig config = config_of("grpo_process");
        config.scale_rewards = scale;
        const AdvantageOutput output = advantages_of(input, config);
        EXPECT_TRUE(output.is_per_token);
        expect_advantages(output.values, expected.values);
        EXPECT_EQ(output.has_no_difference, expected.has_no_difference);
      }
    }
  }
}

TEST(AdvantageIdentity, AGroupWithoutDifferenceHasExactlyZero) {
  for (const Preset& preset : presets()) {
    const AdvantageConfig config = config_of(preset.name);
    const bool is_relative =
        config.baseline != "none" && config.baseline != "critic" && config.baseline != "greedy";
    if (!is_relative || config.is_stepwise()) continue;
    for (const bool whitens : {false, true}) {
      AdvantageConfig own = config;
      own.token_whiten = whitens && !own.batch_whiten;
      const AdvantageOutput output = advantages_of(full_input(), own);
      const std::vector<double> values = numbers(output.values);
      const size_t first = output.is_per_token ? 7 : 4;
      for (size_t i = first; i < values.size(); ++i) EXPECT_EQ(values[i], 0.0) << preset.name;
      EXPECT_TRUE(std::any_of(values.begin(), values.begin() + first, [](double v) { return v != 0.0; }))
          << preset.name;
    }
  }
}

TEST(AdvantageIdentity, PackingOrderChangesNoAdvantage) {
  // Groups swapped, and completions within them.
  const std::vector<int64_t> order{5, 4, 7, 6, 3, 0, 1, 2};
  for (const Preset& preset : presets()) {
    const AdvantageConfig config = config_of(preset.name);
    if (config.is_stepwise()) continue;
    AdvantageInput input = full_input();
    input.rewards = doubles({1, 0, 0.25, 0.5, 0.125, 0.7, 1, 0.75});
    AdvantageInput other = reordered(input, order);
    other.greedy_rewards = doubles({0.7, 0.5});
    const AdvantageOutput first = advantages_of(input, config), second = advantages_of(other, config);
    AdvantageInput as_values = input;  // to bring tokens into the other order too
    if (first.is_per_token) {
      as_values.values = first.values;
      expect_advantages(second.values, numbers(reordered(as_values, order).values));
    } else {
      as_values.rewards = first.values;
      expect_advantages(second.values, numbers(reordered(as_values, order).rewards));
    }
  }
}

TEST(AdvantageIdentity, KeepsTheDtypeAndIgnoresGradient) {
  AdvantageInput input = full_input();
  input.rewards = input.rewards.to(at::kFloat);
  input.values = input.values.to(at::kFloat).requires_grad_();
  const AdvantageOutput output = advantages_of(input, config_of("ppo"));
  EXPECT_EQ(output.values.scalar_type(), at::kFloat);
  EXPECT_EQ(output.returns.scalar_type(), at::kFloat);
  EXPECT_FALSE(output.values.requires_grad());
  EXPECT_EQ(output.is_kept.scalar_type(), at::kBool);
}

TEST(AdvantageIdentity, AnEmptyBatchHasNoAdvantages) {
  const AdvantageOutput output = advantages_of({.rewards = at::empty({0}, at::kDouble)}, {});
  EXPECT_EQ(output.values.numel(), 0);
  EXPECT_EQ(output.is_kept.numel(), 0);
}

TEST(AdvantageIdentity, SaysWhatIsMissing) {
  const AdvantageInput bare{.rewards = doubles({1, 0}), .group_ends = {2}, .lengths = {1, 1}};
  for (const char* preset :
       {"ppo", "vapo", "gtpo", "grpo_s", "edge_grpo", "remax", "lam_po", "grpo_process", "gigpo"}) {
    EXPECT_THROW(advantages_of(bare, config_of(preset)), ConfigError) << preset;
  }
  AdvantageConfig config = config_of("rloo");
  config.beta = 0.1;
  EXPECT_THROW(advantages_of(bare, config), ConfigError);
  config = {};
  config.drop_truncated = true;
  EXPECT_THROW(advantages_of(bare, config), ConfigError);
  EXPECT_THROW(advantages_of({.rewards = doubles({1, 0}), .group_ends = {2}}, config_of("gfpo")),
               ConfigError);
  EXPECT_THROW(advantages_of({.rewards = doubles({1, INFINITY}), .group_ends = {2}}, {}), ConfigError);
  AdvantageInput input = bare;
  input.entropies = doubles({1, kNoScore});
  EXPECT_THROW(advantages_of(input, config_of("edge_grpo")), ConfigError);
  input = bare;
  input.step_ends = at::zeros({2, 1}, at::kLong);
  EXPECT_THROW(advantages_of(input, {}), ConfigError);
}

TEST(AdvantageIdentity, ShapesAreChecked) {
  EXPECT_THROW(advantages_of({.rewards = doubles({1, 0, 1}), .group_ends = {2}}, {}), InternalError);
  EXPECT_THROW(advantages_of({.rewards = doubles({1, 0}), .group_ends = {2, 1}}, {}), InternalError);
  EXPECT_THROW(advantages_of({.rewards = doubles({1}).view({1, 1, 1}), .group_ends = {1}}, {}),
               InternalError);
  AdvantageInput input = full_input();
  input.reward_weights = {1.0, 1.0};
  EXPECT_THROW(advantages_of(input, {}), InternalError);
  input = full_input();
  input.entropies = input.entropies.slice(0, 1);
  EXPECT_THROW(advantages_of(input, config_of("gtpo")), InternalError);
  input = full_input();
  input.lengths.pop_back();
  EXPECT_THROW(advantages_of(input, config_of("gfpo")), InternalError);
}

TEST(AdvantageIdentity, ContradictionsAreRefused) {
  const auto refused = [](const std::vector<std::pair<const char*, const char*>>& keys) {
    ObjectiveSettings settings;
    for (const auto& [key, value] : keys) set_objective_key(settings, key, value);
    EXPECT_THROW(check_advantage_config(settings.advantages), ConfigError) << keys.front().first;
  };
  refused({{"baseline", "critic"}});
  refused({{"credit", "gae"}});
  refused({{"baseline", "critic"}, {"credit", "gae"}});  // the scale is still the group's
  refused({{"value_lambda", "1"}});
  refused({{"length_adaptive_alpha", "0.05"}});
  refused({{"baseline", "critic"}, {"credit", "gae"}, {"scale_rewards", "none"}, {"batch_whiten", "true"}});
  refused({{"baseline", "state_group"}, {"credit", "turns"}, {"batch_whiten", "true"}});
  refused({{"credit", "gtpo"}, {"batch_whiten", "true"}});
  refused({{"critic_share", "0.5"}});
  refused({{"baseline", "state_group"}});
  refused({{"credit", "turns"}});
  refused({{"baseline", "state_group"}, {"credit", "turns"}, {"scale_rewards", "batch"}});
  refused({{"gigpo_omega", "0.5"}});
  refused({{"credit", "gigpo"}, {"baseline", "none"}});
  refused({{"credit", "gigpo"}, {"baseline", "state_group"}});
  refused({{"credit", "gigpo"}, {"scale_rewards", "batch"}});
  refused({{"credit", "gigpo"}, {"batch_whiten", "true"}});
  refused({{"drop_pivot", "true"}});
  refused({{"scale_rewards", "mad"}, {"scale_epsilon", "0"}});
  refused({{"credit", "steps"}, {"baseline", "greedy"}});
  refused({{"credit", "steps"}, {"gfpo_k", "2"}});
  refused({{"credit", "segments"}, {"kl_place", "reward"}, {"beta", "0.1"}});
  refused({{"credit", "gtpo"}, {"scale_rewards", "none"}});
  refused({{"credit", "grpo_s"}, {"kl_place", "reward"}, {"beta", "0.1"}});
  refused({{"multi_objective_aggregation", "normalize_then_sum"}, {"credit", "gtpo"}});
  refused({{"multi_objective_aggregation", "normalize_then_sum"}, {"kl_place", "reward"}, {"beta", "0.1"}});
  refused({{"batch_whiten", "true"}, {"token_whiten", "true"}});
}

}  // namespace
}  // namespace cohort
