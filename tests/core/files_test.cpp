// Atomic files, directories that appear and vanish whole, and files that only grow.
#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/core/jsonl_writer.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(AtomicFile, ReplacesTheContentAndLeavesNothingBeside) {
  TemporaryDirectory directory;
  const fs::path path = directory.path() / "a.txt";
  write_file_atomically(path, "first, and longer");
  write_file_atomically(path, std::string("a\0b", 3));
  EXPECT_EQ(read_text(path), std::string("a\0b", 3));
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"a.txt"});
}

TEST(AtomicFile, NamesThePathThatFails) {
  const std::string message = message_of<FormatError>([] { write_file_atomically("/nowhere/a.txt", "x"); });
  EXPECT_NE(message.find("/nowhere/a.txt"), std::string::npos) << message;
}

TEST(PublishDirectory, GivesTheWholeTreeItsName) {
  TemporaryDirectory directory;
  const fs::path temporary = directory.path() / ".tmp-x", final = directory.path() / "x";
  fs::create_directories(temporary / "deeper");
  write_text(temporary / "deeper" / "file", "content");
  publish_directory(temporary, final);
  EXPECT_EQ(names_in(directory.path()), std::vector<std::string>{"x"});
  EXPECT_EQ(read_text(final / "deeper" / "file"), "content");
}

TEST(PublishDirectory, DoesNotTouchAnExistingOne) {
  TemporaryDirectory directory;
  const fs::path temporary = directory.path() / ".tmp-x", final = directory.path() / "x";
  fs::create_directories(temporary);
  fs::create_directories(final);
  write_text(final / "old", "");
  EXPECT_THROW(publish_directory(temporary, final), FormatError);
  EXPECT_THROW(publish_directory(directory.path() / "missing", directory.path() / "y"), FormatError);
  EXPECT_EQ(names_in(final), std::vector<std::string>{"old"});
}

TEST(RetireDirectory, DeletesItAndALeftoverOfAKilledProcess) {
  TemporaryDirectory directory;
  const fs::path path = directory.path() / "x";
  fs::create_directories(path / "deeper");
  fs::create_directories(directory.path() / ".trash-x");
  write_text(directory.path() / ".trash-x" / "half", "");
  retire_directory(path.string() + "/");
  EXPECT_TRUE(names_in(directory.path()).empty());
  EXPECT_NO_THROW(retire_directory(path));
}

TEST(JsonlWriter, AppendsAcrossOpenings) {
  TemporaryDirectory directory;
  const fs::path path = directory.path() / "a.jsonl";
  JsonlWriter(path).write({{"step", 1}});
  JsonlWriter writer(path);
  EXPECT_EQ(writer.size(), 11);
  writer.write({{"step", 2}});
  EXPECT_EQ(writer.size(), 22);
  EXPECT_EQ(read_text(path), "{\"step\":1}\n");
  writer.flush();
  EXPECT_EQ(read_text(path), "{\"step\":1}\n{\"step\":2}\n");
}

TEST(JsonlWriter, CutsBackAndGoesOn) {
  TemporaryDirectory directory;
  const fs::path path = directory.path() / "a.jsonl";
  JsonlWriter writer(path);
  writer.write({{"step", 1}});
  const int64_t known = writer.size();
  writer.write({{"step", 2}});
  writer.truncate_to(known);
  writer.write({{"step", 3}});
  writer.sync();
  EXPECT_EQ(read_text(path), "{\"step\":1}\n{\"step\":3}\n");
  const std::string message = message_of<FormatError>([&] { writer.truncate_to(23); });
  EXPECT_NE(message.find("has 22 bytes, but its checkpoint knows 23"), std::string::npos) << message;
  EXPECT_THROW(writer.truncate_to(-1), FormatError);
}

TEST(JsonlWriter, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  JsonlWriter writer("/dev/full");
  writer.write({{"step", 1}});
  EXPECT_THROW(writer.flush(), FormatError);
}

}  // namespace
}  // namespace cohort
