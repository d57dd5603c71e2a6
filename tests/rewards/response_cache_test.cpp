#include "cohort/rewards/judge/response_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class ResponseCacheTest : public testing::Test {
 protected:
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  }

  TemporaryDirectory directory_;
  const fs::path folder_ = directory_.path() / "deep" / "cache";
  ResponseCache cache_{folder_, ""};
  const Json request_ = {{"model", "m"}, {"temperature", 0.1}, {"vote", 0}};
};

TEST_F(ResponseCacheTest, FindsWhatWasStoredAndNothingElse) {
  EXPECT_FALSE(cache_.find(request_));
  cache_.store(request_, "seven \xff\n");
  EXPECT_EQ(cache_.find(request_), "seven \xef\xbf\xbd\n");  // no UTF-8: replaced
  Json other = request_;
  other["vote"] = 1;
  EXPECT_FALSE(cache_.find(other));
  EXPECT_EQ(ResponseCache(folder_, "").find(request_), cache_.find(request_));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ResponseCacheTest, RequestsThatAreNoUtf8AreFoundToo) {
  const Json request = {{"text", "cut \xc3"}};
  cache_.store(request, "1");
  EXPECT_EQ(cache_.find(request), "1");
}

TEST_F(ResponseCacheTest, DamagedEntriesAreMissingUntilTheyAreWrittenAnew) {
  cache_.store(request_, "seven");
  const fs::path file = files().at(0);
  const std::string whole = read_text(file);
  for (size_t size = 0; size + 1 < whole.size(); ++size) {
    write_text(file, whole.substr(0, size));
    EXPECT_FALSE(cache_.find(request_)) << size;
  }
  for (const char* text :
       {"null", "[]", "{}", "\xff\xfe", R"({"request":{},"answer":"x"})",
        R"({"request":{"model":"m","temperature":0.1,"vote":0},"answer":7})",
        R"({"request":{"model":"m","temperature":0.1,"vote":1},"answer":"another request's"})"}) {
    write_text(file, text);
    EXPECT_FALSE(cache_.find(request_)) << text;
  }
  write_text(file, std::string(100000, '['));
  EXPECT_FALSE(cache_.find(request_));
  cache_.store(request_, "eight");
  EXPECT_EQ(cache_.find(request_), "eight");
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ResponseCacheTest, ManyThreadsWriteOneEntry) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        cache_.store(request_, std::string(5000, 'x'));
        EXPECT_EQ(cache_.find(request_), std::string(5000, 'x'));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ResponseCacheTest, AFolderThatCannotBeWrittenIsSaidAtOnce) {
  write_text(directory_.path() / "file", "");
  const fs::path inside = directory_.path() / "file" / "cache";
  EXPECT_TRUE(message_of<ConfigError>([&] {
                ResponseCache(inside, "reward r: ");
              }).starts_with("reward r: `cache_dir` can't be written to: "));
}

}  // namespace
}  // namespace cohort
