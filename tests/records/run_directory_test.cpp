#include "cohort/records/run_directory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "cohort/core/error.h"
#include "cohort/core/time_text.h"
#include "cohort/records/metrics_log.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

const std::tm kStart = *parse_time_text("2027-03-04T05:06:07");

TEST(RunDirectory, KnowsWhenItWasBegun) {
  TemporaryDirectory directory;
  const RunDirectory run = RunDirectory::create(directory.path(), "", kStart);
  EXPECT_EQ(to_time_text(RunDirectory::start_of(directory.path())), "2027-03-04T05:06:07");
  write_text(run.start_file(), "yesterday\n");
  EXPECT_THROW(RunDirectory::start_of(directory.path()), FormatError);
}

TEST(RunDirectory, IsCreatedOnce) {
  TemporaryDirectory directory;
  const fs::path root = directory.path() / "runs" / "first";
  EXPECT_FALSE(RunDirectory::holds_run(root));
  EXPECT_EQ(read_text(RunDirectory::create(root, "seed = 1\n", kStart).config_file()), "seed = 1\n");
  EXPECT_TRUE(RunDirectory::holds_run(root));
  const std::string message =
      message_of<ConfigError>([&] { RunDirectory::create(root, "seed = 1\n", kStart); });
  EXPECT_NE(message.find("--resume"), std::string::npos) << message;
}

TEST(RunDirectory, TakesNewSettingsAndWritesDownWhatChanged) {
  TemporaryDirectory directory;
  EXPECT_THROW(RunDirectory::resume(directory.path()), ConfigError);
  {
    RunDirectory::create(directory.path(), "seed = 1\n", kStart, {{"model.path", "known"}});
  }
  EXPECT_EQ(RunDirectory::files_of(directory.path()).at("model.path"), "known");
  const RunDirectory run = RunDirectory::resume(directory.path());
  run.change_settings({}, "seed = 1\nnot = \"written\"\n", Json::object());
  EXPECT_EQ(read_text(run.config_file()), "seed = 1\n");
  EXPECT_FALSE(fs::exists(run.changes_file()));
  fs::create_directories(run.checkpoint(7));
  run.change_settings({{"seed", "1", "2"}}, "seed = 2\n", {{"model.path", "other"}});
  EXPECT_EQ(read_text(run.config_file()), "seed = 2\n");
  EXPECT_EQ(read_text(run.changes_file()),
            "{\"after_step\":7,\"key\":\"seed\",\"before\":\"1\",\"now\":\"2\"}\n");
  EXPECT_EQ(RunDirectory::files_of(directory.path()).at("model.path"), "other");
}

TEST(RunDirectory, IsFreeAgainAfterARunThatWasRefused) {
  TemporaryDirectory directory;
  const fs::path root = directory.path() / "run";
  {
    const RunDirectory refused = RunDirectory::create(root, "seed = 1\n", kStart);
    refused.withdraw();
    EXPECT_FALSE(RunDirectory::holds_run(root));
    EXPECT_EQ(read_text(refused.metrics_file()), "");
    EXPECT_TRUE(fs::exists(refused.metrics_file()));
  }
  const RunDirectory run = RunDirectory::create(root, "seed = 2\n", kStart);
  EXPECT_EQ(read_text(run.config_file()), "seed = 2\n");
  write_text(run.metrics_file(), "{}\n");  // a step was taken
  run.withdraw();
  EXPECT_TRUE(RunDirectory::holds_run(root));
}

TEST(RunDirectory, HasOneWriter) {
  TemporaryDirectory directory;
  {
    RunDirectory first = RunDirectory::create(directory.path(), "", kStart);
    RunDirectory moved = std::move(first);
    EXPECT_THROW(RunDirectory::resume(directory.path()), ConfigError);
  }
  EXPECT_NO_THROW(RunDirectory::resume(directory.path()));
}

TEST(RunDirectory, ListsAndRetiresCheckpoints) {
  TemporaryDirectory directory;
  const RunDirectory run = RunDirectory::create(directory.path(), "", kStart);
  for (int64_t step : {100, 5, 20, 123456789}) fs::create_directories(run.checkpoint(step));
  fs::create_directories(run.temporary_checkpoint(30));
  fs::create_directories(directory.path() / "checkpoints" / ".trash-step-00000001");
  EXPECT_EQ(run.checkpoint(5), directory.path() / "checkpoints" / "step-00000005");
  EXPECT_EQ(run.checkpoint_steps(), (std::vector<int64_t>{5, 20, 100, 123456789}));
  run.keep_newest_checkpoints(2);
  EXPECT_EQ(run.checkpoint_steps(), (std::vector<int64_t>{100, 123456789}));
  const fs::directory_iterator entries(directory.path() / "checkpoints");
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 2);
}

// With COHORT_KEEP_RUN, a directory, the run stays there: tests/python/read_tensorboard.py then reads it.
TEST(MetricsLog, WritesFiguresAndTimingsApart) {
  TemporaryDirectory directory;
  const char* kept = std::getenv("COHORT_KEEP_RUN");
  const RunDirectory run =
      RunDirectory::create(kept != nullptr ? fs::path(kept) : directory.path(), "", kStart);
  MetricsLog log(run);
  log.write(1, {{"reward", 0.1}, {"loss", std::nan("")}}, {{"timing_s/gen", 2.5}}, 1e9);
  log.write(2, {}, {{"timing_s/testing", 0.5}}, 1e9 + 1);
  log.write(3, {{"reward", 0.2}}, {}, 1e9 + 2);
  EXPECT_EQ(read_text(run.metrics_file()),
            "{\"step\":1,\"reward\":0.1,\"loss\":null}\n{\"step\":3,\"reward\":0.2}\n");
  EXPECT_EQ(read_text(run.timings_file()),
            "{\"step\":1,\"timing_s/gen\":2.5}\n{\"step\":2,\"timing_s/testing\":0.5}\n");
}

TEST(MetricsLog, GoesOnWithoutARecordThatWasDeleted) {
  TemporaryDirectory directory;
  const RunDirectory run = RunDirectory::create(directory.path(), "", kStart);
  Json sizes;
  {
    MetricsLog log(run);
    log.write(1, {{"reward", 0.1}}, {{"step_time", 1.0}}, 1e9);
    sizes = log.save();
  }
  fs::remove(run.timings_file());
  MetricsLog log(run);
  log.load(sizes);
  log.write(2, {{"reward", 0.2}}, {{"step_time", 2.0}}, 1e9);
  EXPECT_EQ(read_text(run.timings_file()), "{\"step\":2,\"step_time\":2.0}\n");
  EXPECT_EQ(read_text(run.metrics_file()), "{\"step\":1,\"reward\":0.1}\n{\"step\":2,\"reward\":0.2}\n");
}

TEST(MetricsLog, GoesBackToACheckpoint) {
  TemporaryDirectory directory;
  const RunDirectory run = RunDirectory::create(directory.path(), "", kStart);
  std::string known_metrics, known_events;
  Json sizes;
  {
    MetricsLog log(run);
    log.write(1, {{"reward", 0.1}}, {{"step_time", 1.0}}, 1e9);
    sizes = log.save();
    known_metrics = read_text(run.metrics_file());
    known_events = read_text(run.events_file());
    log.write(2, {{"reward", 0.2}}, {{"step_time", 1.0}}, 1e9);
  }
  MetricsLog log(run);
  log.load(sizes);
  EXPECT_EQ(read_text(run.metrics_file()), known_metrics);
  EXPECT_EQ(read_text(run.events_file()), known_events);
  log.load(Json::object());
  EXPECT_EQ(read_text(run.metrics_file()) + read_text(run.timings_file()) + read_text(run.events_file()), "");
  log.write(1, {{"reward", 0.1}}, {{"step_time", 1.0}}, 1e9);
  EXPECT_EQ(read_text(run.events_file()), known_events);
}

}  // namespace
}  // namespace cohort
