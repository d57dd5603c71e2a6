// completions.index beside the lines: what a run writes, and how it is made right again.
#include "cohort/records/record_lines.h"
#include "tests/records/index_case.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class IndexWriterTest : public IndexCase {
 protected:
  /// Steps 1 to 6 in two compressed files and the current one; returns the checkpoint of step 6.
  Json write_six() {
    CompletionsLog log(run_, 1);
    for (int64_t step = 1; step <= 6; ++step) {
      write_step(log, step);
      if (step == 2 || step == 4) log.save(step);
    }
    return {{"completions", fs::file_size(current_path())}, {"completions_from", 5}};
  }

  /// Opens the run as `--resume` does, after the index was made `bytes`.
  void expect_healed(const std::string& bytes, const Json& saved, const std::string& what) {
    const std::string before = read_text(current_path());
    write_text(index_path(), bytes);
    CompletionsLog log(run_, 1 << 20);
    log.load(saved, 6);
    expect_index(what);
    EXPECT_TRUE(read_text(current_path()) == before) << what;
  }
};

TEST_F(IndexWriterTest, HasARowForEachLine) {
  CompletionsLog log(run_, 1);
  log.load(Json::object(), 0);
  EXPECT_EQ(read_text(index_path()), "COHORTI1");
  write_step(log, 1);
  write_step(log, 2);
  expect_index();
  EXPECT_EQ(fs::file_size(index_path()), 8 + 6 * 48u);
  const std::string before = read_text(index_path());
  log.save(2);
  EXPECT_EQ(read_text(index_path()), before);  // compression changes no row
  write_step(log, 5);
  expect_index();
  CompletionIndex index(root());
  index.update();
  EXPECT_EQ(index.entries()[5].file, 1u);
  EXPECT_EQ(index.entries()[6].file, 5u);
  EXPECT_EQ(index.entries()[6].place, 0);
}

TEST_F(IndexWriterTest, GoesBackWithTheLines) {
  Json second;
  std::string known;
  {
    CompletionsLog log(run_, 400);
    write_step(log, 1, 1);
    second = log.save(2);
    known = read_text(index_path());
    for (const int64_t step : {3, 4, 5, 6}) {
      write_step(log, step);
      log.save(step);
    }
    EXPECT_GE(first_steps(root() / "completions").size(), 2u);
    log.restore_lines(second);
    expect_index("restored");
    log.truncate_to(static_cast<int64_t>(fs::file_size(current_path()) - lines().back().size() - 1));
    expect_index("cut");
  }
  CompletionsLog log(run_, 400);
  log.load(second, 2);
  expect_index("gone back");
  EXPECT_EQ(read_text(index_path()), known);
  write_step(log, 3);
  expect_index("gone on");
}

TEST_F(IndexWriterTest, IsMadeWhereItIsMissingOrDamaged) {
  const Json saved = write_six();
  expect_index("written");
  const std::string right = read_text(index_path());
  fs::remove(index_path());
  {
    CompletionsLog log(run_, 1 << 20);
    log.load(saved, 6);
    expect_index("missing");
  }
  expect_healed("", saved, "empty");
  expect_healed("COHORT", saved, "begun");
  expect_healed("COHORTI2" + right.substr(8), saved, "another version");
  expect_healed(right + right.substr(8, 48), saved, "a row too many");
  expect_healed(right.substr(0, 8) + right.substr(56), saved, "the first row is missing");
  std::string zeros = right;
  std::fill(zeros.begin() + 8 + 5 * 48, zeros.begin() + 8 + 9 * 48, '\0');
  expect_healed(zeros, saved, "zeros");
  std::string other = right;
  other[right.size() - 48 + 32] ^= 1;  // a reward of the last row
  expect_healed(other, saved, "rows of other lines");
}

TEST_F(IndexWriterTest, IsMadeAgainAfterAnyCut) {
  const Json saved = write_six();
  const std::string right = read_text(index_path());
  for (int i = 0; i < 150; ++i) {
    std::string bytes = right.substr(0, random_() % (right.size() + 1));
    if (i % 3 == 0) bytes += std::string(random_() % 100, static_cast<char>(random_()));
    expect_healed(bytes, saved, str("cut ", i, " to ", bytes.size()));
  }
}

TEST_F(IndexWriterTest, LinesThatAnEarlierVersionWroteGetTheirRows) {
  write_six();
  const std::string line = to_json_text(random_row(7, 0)) + "\n";
  std::ofstream(current_path(), std::ios::app) << line << line;
  CompletionsLog log(run_, 1 << 20);
  write_step(log, 8);
  expect_index();
  EXPECT_EQ(wanted().size(), 6 * 3 + 2 + 3u);
}

TEST_F(IndexWriterTest, RowsOfDeletedFilesGo) {
  const Json saved = write_six();
  fs::remove(root() / "completions/00000001.jsonl.zst");
  CompletionsLog log(run_, 1 << 20);
  log.load(saved, 6);
  expect_index();
  EXPECT_EQ(wanted().size(), 4 * 3u);
}

// The run goes on, and its lines are all there.
TEST_F(IndexWriterTest, AnIndexThatCanNotBeWrittenStopsNoRun) {
  fs::create_directories(index_path() / "folder");
  testing::internal::CaptureStderr();
  {
    CompletionsLog log(run_, 1);
    log.load(Json::object(), 0);
    write_step(log, 1);
    log.save(1);
    write_step(log, 2);
  }
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_NE(warnings.find("completions.index: can't be written"), std::string::npos) << warnings;
  EXPECT_EQ(lines().size(), 6u);
  fs::remove_all(index_path());
  CompletionsLog log(run_, 1);
  log.load({{"completions", fs::file_size(current_path())}, {"completions_from", 2}}, 2);
  expect_index();
}

TEST_F(IndexWriterTest, RowsWithoutAStepStopNoRun) {
  testing::internal::CaptureStderr();
  CompletionsLog log(run_, 1 << 20);
  log.write({{{"completion", "a"}}});
  write_step(log, 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("has no step"), std::string::npos);
  EXPECT_FALSE(fs::exists(index_path()));
  EXPECT_NE(read_text(current_path()).find("\"step\":2"), std::string::npos);
}

/// A run that is trained, goes back, is killed and resumed.
class RandomRun {
 public:
  RandomRun(const RunDirectory& run, std::mt19937& random) : run_(run), random_(random) { resume(0); }

  CompletionsLog& log() { return *log_; }
  int64_t next_step() { return ++step_; }

  void save() {
    if (saved_.back().first < step_) saved_.emplace_back(step_, log_->save(step_));
  }

  /// Restores the lines of a checkpoint, and goes on from there or is killed meanwhile.
  void roll_back(const std::function<void()>& check) {
    const size_t to = random_() % saved_.size();
    log_->restore_lines(saved_[to].second);
    check();
    if (random_() % 2 == 0) return resume(to + random_() % (saved_.size() - to));
    log_->truncate_to(place_after(run_.completions_file(), saved_[to].first));
    go_on_from(to);
  }

  void resume() { resume(random_() % saved_.size()); }

  /// With an index that was cut anywhere.
  void resume_damaged(const fs::path& index) {
    const std::string bytes = read_text(index);
    write_text(index, bytes.substr(0, random_() % (bytes.size() + 1)));
    resume();
  }

 private:
  void resume(size_t checkpoint) {
    log_.reset();
    go_on_from(checkpoint);
    log_ = std::make_unique<CompletionsLog>(run_, 600);
    log_->load(saved_.back().second, step_);
  }

  void go_on_from(size_t checkpoint) {
    saved_.resize(checkpoint + 1);
    step_ = saved_.back().first;
  }

  const RunDirectory& run_;
  std::mt19937& random_;
  std::unique_ptr<CompletionsLog> log_;
  std::vector<std::pair<int64_t, Json>> saved_{{0, Json::object()}};
  int64_t step_ = 0;
};

// Steps, checkpoints, rollbacks, restarts and damage in any order: the index is always that of the lines.
TEST_F(IndexWriterTest, FollowsTheLinesWhateverHappens) {
  RandomRun run(run_, random_);
  CompletionIndex reader(root());
  size_t most_files = 0;
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const auto what = random_() % 20;
    const auto check = [&] { expect_index(str("operation ", i, " of kind ", what)); };
    if (what < 9) {
      write_step(run.log(), run.next_step(), 1 + static_cast<int64_t>(random_() % 4));
    } else if (what < 17) {
      run.save();
    } else if (what == 17) {
      run.roll_back(check);
    } else if (what == 18) {
      run.resume();
    } else {
      run.resume_damaged(index_path());
    }
    check();
    most_files = std::max(most_files, CompletionFiles(root()).files().size());
    if (random_() % 2 == 0) {
      reader.update();
      expect_all(reader, str("operation ", i, " of kind ", what));
    }
  }
  EXPECT_GT(most_files, 3u);
}

}  // namespace
}  // namespace cohort
