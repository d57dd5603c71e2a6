// Reading completions.index and lines by their places, while the run goes on.
#include "cohort/core/error.h"
#include "cohort/records/completion_lines.h"
#include "tests/records/index_case.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class CompletionIndexTest : public IndexCase {
 protected:
  std::string random_text(size_t length) {
    std::string text(length, 'a');
    for (size_t i = 0; i < length; i += 4) text[i] = static_cast<char>('a' + random_() % 16);
    return text;
  }
};

TEST_F(CompletionIndexTest, FollowsARun) {
  CompletionIndex index(root());
  EXPECT_FALSE(index.update());
  EXPECT_TRUE(index.entries().empty());
  CompletionsLog log(run_, 1);
  write_step(log, 1);
  EXPECT_TRUE(index.update());
  expect_all(index);
  EXPECT_FALSE(index.update());
  const CompletionEntry first = index.entries()[0];
  const std::string line = index.line(first);
  write_step(log, 2);
  log.save(2);
  EXPECT_EQ(index.line(first), line);  // it was compressed meanwhile
  EXPECT_TRUE(index.update());
  expect_all(index);
  EXPECT_FALSE(index.update());
  write_step(log, 3);
  log.save(3);
  write_step(log, 4);
  log.save(4);
  write_step(log, 5);
  EXPECT_TRUE(index.update());
  expect_all(index);
  EXPECT_EQ(index.line(first), line);
}

TEST_F(CompletionIndexTest, FollowsARunWithoutAnIndex) {
  CompletionIndex index(root());
  CompletionsLog log(run_, 1);
  for (int64_t step = 1; step < 9; ++step) {
    write_step(log, step);
    fs::remove(index_path());
    EXPECT_TRUE(index.update());
    expect_all(index, str("step ", step));
    EXPECT_FALSE(index.update());
    if (step % 3 == 0) {
      log.save(step);
      index.update();
      expect_all(index, str("compressed after ", step));
    }
  }
}

TEST_F(CompletionIndexTest, ALineWithoutItsEndWaits) {
  const std::string line = to_json_text(random_row(1, 0));
  write_text(current_path(), line.substr(0, 30));
  CompletionIndex index(root());
  EXPECT_FALSE(index.update());
  write_text(current_path(), line + "\n" + line.substr(0, 30));
  EXPECT_TRUE(index.update());
  EXPECT_EQ(index.entries().size(), 1u);
  EXPECT_FALSE(index.update());
  write_text(current_path(), line + "\n" + line + "\n");
  EXPECT_TRUE(index.update());
  expect_all(index);
}

TEST_F(CompletionIndexTest, RowsThatWentBackDisappear) {
  Json first;
  CompletionIndex index(root());
  {
    CompletionsLog log(run_, 1);
    write_step(log, 1);
    first = log.save(1);
    write_step(log, 2);
    log.save(2);
    write_step(log, 3);
  }
  index.update();
  const CompletionEntry gone = index.entries().back();
  CompletionsLog log(run_, 1);
  log.load(first, 1);
  EXPECT_TRUE(index.update());
  EXPECT_THROW(index.line(gone), FormatError);
  expect_all(index);
  EXPECT_EQ(index.entries().size(), 3u);
  write_step(log, 2, 9);  // more rows than there were
  EXPECT_TRUE(index.update());
  expect_all(index);
}

TEST_F(CompletionIndexTest, LinesThatAreRestoredMeanwhileAreFound) {
  CompletionsLog log(run_, 1);
  write_step(log, 1);
  log.save(1);
  write_step(log, 2);
  CompletionIndex index(root());
  index.update();
  const std::vector<std::string> all = lines();
  log.restore_lines(Json::object());
  EXPECT_EQ(index.line(index.entries()[1]), all[1]);
  EXPECT_TRUE(index.update());
  expect_all(index);
}

TEST_F(CompletionIndexTest, OtherLinesOfTheSameLengthsAreSeen) {
  CompletionsLog log(run_, 1);
  const auto write = [&](int64_t step, const char* text, double reward) {
    log.write({{{"step", step}, {"completion", text}, {"reward", reward}}});
  };
  write(1, "old", 1.5);
  const Json first = log.save(1);
  write(2, "old", 1.5);
  log.save(2);
  write(3, "old", 1.5);
  CompletionIndex index(root());
  index.update();
  EXPECT_NE(index.line(index.entries()[1]).find("old"), std::string::npos);
  log.load(first, 1);
  write(2, "new", 2.5);
  log.save(2);
  for (const int64_t step : {3, 4}) write(step, "new", 2.5);
  EXPECT_TRUE(index.update());
  expect_all(index);
}

TEST_F(CompletionIndexTest, ADamagedIndexIsNotBelieved) {
  {
    CompletionsLog log(run_, 600);
    for (int64_t step = 1; step < 8; ++step) {
      write_step(log, step);
      log.save(step);
    }
  }
  const std::string right = read_text(index_path());
  for (int i = 0; i < 40; ++i) {
    std::string bytes = right.substr(0, random_() % (right.size() + 1));
    if (i % 2 == 0) bytes += std::string(random_() % 200, static_cast<char>(random_()));
    write_text(index_path(), bytes);
    CompletionIndex index(root());
    EXPECT_TRUE(index.update());
    expect_all(index, str("case ", i));
    EXPECT_EQ(read_text(index_path()), bytes);  // a reader writes nothing
    write_text(index_path(), right);
    index.update();
    expect_all(index, str("mended ", i));
    if (HasFatalFailure()) return;
  }
}

TEST_F(CompletionIndexTest, LinesOfDeletedFilesAreLeftOut) {
  CompletionsLog log(run_, 1);
  for (int64_t step = 1; step < 4; ++step) {
    write_step(log, step);
    log.save(step);
  }
  write_step(log, 4);
  CompletionIndex index(root());
  index.update();
  fs::remove(root() / "completions/00000002.jsonl.zst");
  EXPECT_TRUE(index.update());
  expect_all(index);
  EXPECT_EQ(index.entries().size(), 9u);
  EXPECT_FALSE(index.update());
  write_step(log, 5);
  EXPECT_TRUE(index.update());
  expect_all(index);
}

TEST_F(CompletionIndexTest, DamagedLinesAreNamed) {
  write_text(current_path(), to_json_text(random_row(1, 0)) + "\n{\"step\":1,\"a\"\n");
  CompletionIndex index(root());
  const std::string message = message_of<FormatError>([&] { index.update(); });
  EXPECT_NE(message.find("completions.jsonl: the line at byte"), std::string::npos) << message;
  write_text(current_path(), to_json_text(random_row(1, 0)) + "\n");
  index.update();
  expect_all(index);
}

TEST_F(CompletionIndexTest, ReadsLongLines) {
  CompletionsLog log(run_, 1);
  std::vector<std::string> texts;
  for (int64_t step = 1; step <= 3; ++step) {
    Json row = random_row(step, -1);
    texts.push_back(random_text(10 << 20));
    row["completion"] = texts.back();
    log.write({row});
    if (step == 2) log.save(2);
  }
  CompletionIndex index(root());
  index.update();
  expect_index();
  ASSERT_EQ(index.entries().size(), 3u);
  for (const size_t i : {1, 0, 2}) {
    const Json row = Json::parse(index.line(index.entries()[i]));
    EXPECT_EQ(row.at("step"), i + 1);
    EXPECT_TRUE(row.at("completion") == texts[i]) << i;
  }
}

// Files of 8 MB, of which 3 MB are kept at most, in any order.
TEST_F(CompletionIndexTest, ReadsLinesOfFilesThatAreNotKeptWhole) {
  {
    CompletionsLog log(run_, 1);
    for (int64_t step = 1; step <= 60; ++step) {
      Json row = random_row(step, -1);
      row["completion"] = random_text(random_() % 10 == 0 ? 4 << 20 : random_() % (400 << 10));
      log.write({row});
      if (step % 20 == 0) log.save(step);
    }
  }
  CompletionIndex index(root());
  index.update();
  const std::vector<std::string> all = lines();
  ASSERT_EQ(all.size(), index.entries().size());
  CompletionLines reader(root(), 3 << 20);
  reader.set_files(std::make_shared<const CompletionFiles>(root()));
  for (size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(reader.read(index.entries()[i]) == all[i]) << i;
  for (int count = 0; count < 100; ++count) {
    const size_t i = random_() % all.size();
    ASSERT_TRUE(reader.read(index.entries()[i]) == all[i]) << i;
  }
}

TEST_F(CompletionIndexTest, StepsThatWereLeftAreNoPartOfIt) {
  CompletionsLog log(run_, 1 << 20);
  write_step(log, 1);
  fs::create_directories(run_.rollback_folder(1));
  fs::copy_file(current_path(), run_.rollback_folder(1) / "completions.jsonl");
  CompletionIndex index(root());
  index.update();
  EXPECT_EQ(index.entries().size(), 3u);
}

}  // namespace
}  // namespace cohort
