// The schedules against transformers' own, frozen in golden/schedules.json by tools/make_golden/schedules.py.
#include "cohort/train/run/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

TEST(Schedule, AgreesWithTransformers) {
  const Json golden = read_json(COHORT_SOURCE_DIR "/tests/train/golden/schedules.json");
  const auto num_updates = golden["num_updates"].get<int64_t>();
  ASSERT_EQ(golden["schedules"].size(), 24u);
  for (const Json& row : golden["schedules"]) {
    OptimizerConfig config{.learning_rate = golden["peak"], .lr_scheduler_type = row["type"]};
    config.warmup_steps = row["warmup_steps"];
    config.lr_scheduler_kwargs = row["kwargs"].get<std::map<std::string, double>>();
    check_schedule(config);
    for (int64_t update = 0; update < num_updates; ++update) {
      EXPECT_NEAR(learning_rate(config, update, num_updates), row["rates"][update].get<double>(), 1e-15)
          << row["type"] << row["kwargs"] << " after " << row["warmup_steps"] << " at " << update;
    }
  }
}

TEST(Schedule, WarmsUpForAShareRoundedUp) {
  OptimizerConfig config{.learning_rate = 1.0, .lr_scheduler_type = "constant"};
  config.warmup_ratio = 0.21;
  const double expected[] = {0.0, 1.0 / 3, 2.0 / 3, 1.0, 1.0};
  for (int64_t update = 0; update < 5; ++update)
    EXPECT_DOUBLE_EQ(learning_rate(config, update, 10), expected[update]);
}

TEST(Schedule, RefusesKeysThatContradictOrLack) {
  const auto refused = [](OptimizerConfig config, std::map<std::string, double> kwargs) {
    config.lr_scheduler_kwargs = std::move(kwargs);
    return message_of<ConfigError>([&] { check_schedule(config); });
  };
  OptimizerConfig both;
  both.warmup_steps = 1;
  both.warmup_ratio = 0.1;
  EXPECT_EQ(refused(both, {}),
            "optimizer.warmup_ratio and warmup_steps both set the warm-up: remove one of them");
  EXPECT_EQ(refused({.lr_scheduler_type = "cosine"}, {{"power", 2.0}}),
            "optimizer.lr_scheduler_kwargs: \"cosine\" has no power; it takes none");
  EXPECT_EQ(refused({.lr_scheduler_type = "polynomial"}, {{"min_lr", 0.0}}),
            "optimizer.lr_scheduler_kwargs: \"polynomial\" has no min_lr; it takes lr_end, power");
  EXPECT_NE(refused({.lr_scheduler_type = "warmup_stable_decay"}, {})
                .find("needs lr_scheduler_kwargs = {num_decay_"),
            std::string::npos);
  EXPECT_NE(refused({.lr_scheduler_type = "cosine_with_min_lr"}, {}).find("min_lr_rate"), std::string::npos);
  EXPECT_NE(
      refused({.learning_rate = 1e-8, .lr_scheduler_type = "polynomial"}, {}).find("below learning_rate"),
      std::string::npos);
  EXPECT_EQ(refused({.lr_scheduler_type = "cosine_with_restarts"}, {{"num_cycles", 0.0}}),
            "optimizer.lr_scheduler_kwargs.num_cycles is 0, but must be above 0");
}

}  // namespace
}  // namespace cohort
