#include "cohort/objectives/loss_input.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/objectives/loss_compositions.h"

namespace cohort {
namespace {

TEST(LossInput, MissingInputsAreNamed) {
  const auto message = [](const ConfigChange& change, const std::function<void(LossInput&)>& without) {
    LossInput input = small_batch();
    without(input);
    try {
      policy_loss(input, config_of(change));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto all = compositions();
  const auto expect = [&](const char* name, const char* said,
                          const std::function<void(LossInput&)>& without) {
    EXPECT_NE(message(all.at(name), without).find(said), std::string::npos) << name;
    EXPECT_EQ(message(all.at(name), [](LossInput&) {}), "") << name;
  };
  expect("kl/k3", "ref_logprobs", [](LossInput& input) { input.ref_logprobs.reset(); });
  expect("mismatch/token_mask", "sampler_logprobs", [](LossInput& input) { input.sampler_logprobs.reset(); });
  expect("entropy", "entropies", [](LossInput& input) { input.entropies.reset(); });
  expect("critic", "values", [](LossInput& input) { input.returns.reset(); });
  expect("likelihood", "rewards", [](LossInput& input) { input.rewards.reset(); });
  expect("pairs", "rewards", [](LossInput& input) { input.rewards.reset(); });
  expect("pairs", "ends of the groups", [](LossInput& input) { input.group_ends = {}; });
  expect("best and worst", "ref_logprobs", [](LossInput& input) { input.ref_logprobs.reset(); });
  expect("drpo_decoupled", "rewards", [](LossInput& input) { input.rewards.reset(); });
  expect("lambda", "ends of the groups", [](LossInput& input) { input.group_ends = {}; });
  expect("group scope", "ends of the groups", [](LossInput& input) { input.group_ends = {}; });
  expect("ppo/turn", "turns", [](LossInput& input) { input.turn_lengths = {}; });
}

TEST(LossInput, ShapesAreChecked) {
  const auto refused = [](const std::function<void(LossInput&)>& change) {
    LossInput input = small_batch();
    change(input);
    EXPECT_THROW(policy_loss(input, {}), InternalError);
  };
  refused([](LossInput& input) { input.lengths[0] = 5; });
  refused([](LossInput& input) { input.advantages = doubles({1, 2}); });
  refused([](LossInput& input) { input.old_logprobs = doubles({1, 2}); });
  refused([](LossInput& input) { input.rewards = doubles({1, 2}); });
  refused([](LossInput& input) { input.turn_lengths.pop_back(); });
  refused([](LossInput& input) { input.group_ends = {3, 5}; });
  refused([](LossInput& input) { input.is_demonstration = {1}; });
  refused([](LossInput& input) { input.advantages_are_per_token = true; });
}

}  // namespace
}  // namespace cohort
