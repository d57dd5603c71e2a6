// completions.jsonl and the compressed files of its older lines.
#include "cohort/records/completions_log.h"

#include <gtest/gtest.h>

#include "cohort/core/time_text.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

using Steps = std::vector<int64_t>;

class CompletionsLogTest : public testing::Test {
 protected:
  CompletionsLogTest() : run_(RunDirectory::create(scratch_.path() / "run", "", present_time())) {}

  static Json row(int64_t step) { return {{"step", step}, {"completion", "some text"}}; }

  static void write(CompletionsLog& log, const Steps& steps) {
    for (const int64_t step : steps) log.write({row(step), row(step)});
  }

  /// The steps of the lines, of which each step has two.
  Steps read(std::optional<int64_t> step = std::nullopt) const {
    Steps steps;
    for_each_completion(run_.root(), step, [&](const std::string& line) {
      const Json found = Json::parse(line);
      steps.push_back(found.at("step").get<int64_t>());
      EXPECT_EQ(found, row(steps.back()));
    });
    return steps;
  }

  /// Steps 1 to 5, compressed; returns the checkpoint of step 2, when they were not.
  Json write_five() {
    CompletionsLog log(run_, 250);
    write(log, {1, 2});
    const Json saved = log.save(2);
    write(log, {3, 4, 5});
    log.save(5);
    return saved;
  }

  fs::path compressed(const char* name) const { return run_.root() / "completions" / name; }

  TemporaryDirectory scratch_;
  RunDirectory run_;
};

TEST_F(CompletionsLogTest, LongFilesAreCompressedAndReadInOrder) {
  CompletionsLog log(run_, 1);
  write(log, {1, 2, 3});
  EXPECT_EQ(log.save(3), (Json{{"completions", 0}, {"completions_from", 4}}));
  write(log, {4, 6});
  log.save(6);
  write(log, {7});
  EXPECT_TRUE(fs::exists(compressed("00000001.jsonl.zst")));
  EXPECT_TRUE(fs::exists(compressed("00000004.jsonl.zst")));
  EXPECT_EQ(read_text(run_.completions_file()).find("\"step\":6"), std::string::npos);
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2, 3, 3, 4, 4, 6, 6, 7, 7}));
  for (const int64_t step : {1, 2, 3, 4, 6, 7}) EXPECT_EQ(read(step), (Steps{step, step}));
  for (const int64_t step : {0, 5, 8}) EXPECT_EQ(read(step), Steps{});
}

TEST_F(CompletionsLogTest, ShortFilesStay) {
  CompletionsLog log(run_, 1 << 20);
  write(log, {1, 2});
  const Json saved = log.save(2);
  EXPECT_EQ(saved.at("completions_from"), 1);
  EXPECT_FALSE(fs::exists(run_.root() / "completions"));
  EXPECT_EQ(read(2), (Steps{2, 2}));
}

TEST_F(CompletionsLogTest, GoesBackToBeforeLinesWereCompressed) {
  const Json saved = write_five();
  {
    CompletionsLog log(run_, 250);
    write(log, {6, 7, 8, 9});
    log.save(9);
    write(log, {10});
  }
  EXPECT_EQ(saved.at("completions_from"), 1);
  EXPECT_TRUE(fs::exists(compressed("00000006.jsonl.zst")));
  CompletionsLog log(run_, 250);
  log.load(saved, 2);
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2}));
  EXPECT_TRUE(fs::is_empty(run_.root() / "completions"));
  write(log, {3});
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2, 3, 3}));
}

TEST_F(CompletionsLogTest, KeepsWhatWasCompressedBeforeTheCheckpoint) {
  Json saved;
  {
    CompletionsLog log(run_, 1);
    write(log, {1, 2});
    saved = log.save(2);
    write(log, {3, 4});
    log.save(4);
    write(log, {5});
  }
  CompletionsLog log(run_, 1);
  log.load(saved, 2);
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2}));
  EXPECT_TRUE(fs::exists(compressed("00000001.jsonl.zst")));
  EXPECT_FALSE(fs::exists(compressed("00000003.jsonl.zst")));
}

// A rollback to step 2 has taken lines back and is killed; the run goes on from step 4.
TEST_F(CompletionsLogTest, AnInterruptedRollbackLosesNothing) {
  Json second, fourth;
  {
    CompletionsLog log(run_, 1);
    write(log, {1, 2});
    second = log.save(2);
    write(log, {3, 4});
    fourth = log.save(4);
    write(log, {5});
    log.restore_lines(second);
  }
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  CompletionsLog log(run_, 1);
  log.load(fourth, 4);
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2, 3, 3, 4, 4}));
  write(log, {5});
  EXPECT_EQ(log.save(5), (Json{{"completions", 0}, {"completions_from", 6}}));
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
}

// Someone has freed the disk; the run goes back to when the lines were in completions.jsonl.
TEST_F(CompletionsLogTest, GoesBackWithWhatThereIsWhereLinesWereDeleted) {
  const Json saved = write_five();
  {
    CompletionsLog log(run_, 250);
    write(log, {6});
  }
  fs::remove_all(run_.root() / "completions");
  CompletionsLog log(run_, 250);
  log.load(saved, 2);
  EXPECT_EQ(read(), Steps{});
  write(log, {3});
  EXPECT_EQ(read(), (Steps{3, 3}));
}

// As a process leaves it that is killed before completions.jsonl is replaced.
TEST_F(CompletionsLogTest, LinesThatAreInBothFilesCountOnce) {
  const fs::path path = run_.completions_file();
  Json before;
  {
    CompletionsLog log(run_, 400);
    write(log, {1, 2, 3});
    before = log.save(3);
    write(log, {4, 5, 6});
    const std::string lines = read_text(path);
    log.save(6);
    EXPECT_TRUE(fs::exists(compressed("00000001.jsonl.zst")));
    write_text(path, lines);
  }
  write_text(compressed("00000001.jsonl.zst.tmp"), "half");
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
  CompletionsLog log(run_, 400);
  EXPECT_TRUE(fs::is_empty(run_.root() / "completions"));
  log.load(before, 3);
  EXPECT_EQ(read(), (Steps{1, 1, 2, 2, 3, 3}));
}

}  // namespace
}  // namespace cohort
