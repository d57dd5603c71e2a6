// Search in a folder of texts: ranking, ties, hostile queries, and folders that cannot be read.
#include "cohort/env/retrieval_tool.h"

#include <gtest/gtest.h>

#include <chrono>

#include "cohort/core/error.h"
#include "cohort/env/search_index.h"
#include "cohort/env/tool_config.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

class RetrievalTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder() / name).parent_path());
    write_text(folder() / name, text);
  }

  std::filesystem::path folder() const { return directory_.path() / "texts"; }

  std::unique_ptr<Tool> tool() const {
    return make_retrieval_tool({.type = "retrieval", .folder = folder()});
  }

  static Json search(Tool& tool, const std::string& query, int64_t top_k = 3) {
    const ToolResult result = tool.call({{"query", query}, {"top_k", top_k}}, 0);
    EXPECT_FALSE(result.is_error);
    return Json::parse(result.content);
  }

  static std::vector<std::string> titles(Tool& tool, const std::string& query, int64_t top_k = 3) {
    std::vector<std::string> found;
    for (const Json& each : search(tool, query, top_k)) found.push_back(each.at("title"));
    return found;
  }

  std::vector<std::string> passages() const {
    std::vector<std::string> found;
    for_each_passage(folder(),
                     [&](const Passage& passage) { found.push_back(passage.title + "|" + passage.text); });
    return found;
  }

 private:
  TemporaryDirectory directory_;
};

using Titles = std::vector<std::string>;

TEST_F(RetrievalTest, RanksByTheWordsOfTheQuery) {
  write("cats.txt", "Cats sleep in the garden all day.");
  write("dogs.md", "# Dogs\n\nDogs chase cats, and bark.");
  write("fish.txt", "Fish swim in the river.");
  for (const char* name : {"sun.txt", "moon.txt", "star.txt"}) write(name, "Nothing of that.");
  const auto retrieval = tool();
  EXPECT_EQ(titles(*retrieval, "dog"), Titles{"dogs.md"});  // by its stem
  EXPECT_EQ(titles(*retrieval, "chasing cats"), (Titles{"dogs.md", "cats.txt"}));
  EXPECT_EQ(titles(*retrieval, "GARDEN cats"), (Titles{"cats.txt", "dogs.md"}));
  EXPECT_EQ(titles(*retrieval, "the RIVER garden", 1).size(), 1u);
  EXPECT_EQ(search(*retrieval, "river"),
            Json::parse(R"([{"title": "fish.txt", "passage": "Fish swim in the river."}])"));
  EXPECT_EQ(search(*retrieval, "elephant"), Json::array());
}

TEST_F(RetrievalTest, TiesStandInTheOrderOfTheFiles) {
  for (const char* name : {"c/1.txt", "a/3.txt", "b/2.txt", "a/2.txt"}) write(name, "the same words");
  const auto retrieval = tool();
  EXPECT_EQ(titles(*retrieval, "same", 20), (Titles{"a/2.txt", "a/3.txt", "b/2.txt", "c/1.txt"}));
  EXPECT_EQ(titles(*retrieval, "words", 2), (Titles{"a/2.txt", "a/3.txt"}));
}

TEST_F(RetrievalTest, AnyTextIsAQuery) {
  write("a.txt", "Near the NOT gate stands O'Brien's caf\u00e9; title:x, 100%.");
  const auto retrieval = tool();
  for (const char* query :
       {"gate\"", "NOT", "gate NOT stands", "NEAR(gate stands)", "title:gate", "-gate", "gate*", "^gate",
        "(gate", "gate)", "{title}: gate", "gate AND", "O'Brien", "cafe", "CAF\u00c9",
        "gate; DROP TABLE passages", "gate --", "\u2014 gate", "gate + stands"})
    EXPECT_EQ(titles(*retrieval, query), Titles{"a.txt"}) << query;
  for (const char* query : {"", " ", "\u2014", "***", "\t\n", "()", "\"", "\"\""})
    EXPECT_EQ(titles(*retrieval, query), Titles{}) << query;
  EXPECT_EQ(titles(*retrieval, std::string("gate\0stands", 11)), Titles{"a.txt"});
  std::string long_query;
  for (int i = 0; i < 5000; ++i) long_query += "word" + std::to_string(i) + " ";
  EXPECT_EQ(titles(*retrieval, "gate " + long_query), Titles{"a.txt"});
  EXPECT_EQ(fts5_query("a b \"a\" c"), R"("a" OR "b" OR "c")");
}

TEST_F(RetrievalTest, CutsFilesAtBlankLines) {
  const std::string one(600, 'a'), two(500, 'b'), three(300, 'c');
  write("a.txt", "\n\n" + one + "\n \n\n" + two + "\n\n" + three + "\n");
  EXPECT_EQ(passages(), (Titles{"a.txt|" + one, "a.txt|" + two + "\n\n" + three}));
  std::string words;
  for (int i = 0; i < 400; ++i) words += "w\u00f6rd ";  // 2,000 characters
  write("a.txt", words);
  const Titles parts = passages();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(parts[0].ends_with(" w\u00f6rd"));
  EXPECT_TRUE(parts[1].starts_with("a.txt|w\u00f6rd "));
  write("a.txt", std::string(2500, 'x'));  // without a blank
  EXPECT_EQ(passages().size(), 3u);
}

TEST_F(RetrievalTest, RowsAreOnePassageEach) {
  write("rows.jsonl",
        "{\"title\": \"One\", \"text\": \"first\"}\n\n{\"contents\": \"second\"}\n{\"id\": 3, \"passage\": "
        "\"third\"}\n");
  write(".hidden.txt", "hidden");
  write(".git/x.txt", "hidden");
  write("picture.png", "\xff");
  EXPECT_EQ(passages(), (Titles{"One|first", "rows.jsonl:3|second", "rows.jsonl:4|third"}));
}

TEST_F(RetrievalTest, SaysWhatIsWrongWithTheFolder) {
  EXPECT_EQ(message_of<ConfigError>([&] { tool(); }), "tool.folder: there is no folder " + folder().string());
  write("a.png", "x");
  write("empty.txt", " \n");
  EXPECT_EQ(message_of<ConfigError>([&] { tool(); }),
            "tool.folder: " + folder().string() + " has no text in files .txt, .md or .jsonl");
  write("a.txt", "fine\nnot \xff fine");
  EXPECT_EQ(message_of<FormatError>([&] { tool(); }),
            (folder() / "a.txt").string() + ":2: not UTF-8; convert the file, or take it away");
  std::filesystem::remove(folder() / "a.txt");
  write("a.jsonl", "{\"text\": \"x\"}\n{\"title\": \"no text\"}\n");
  EXPECT_NE(message_of<FormatError>([&] { tool(); }).find("a.jsonl:2: a row needs a text"),
            std::string::npos);
  write("a.jsonl", "{\"text\": \"x\"\n");
  EXPECT_NE(message_of<FormatError>([&] { tool(); }).find("a.jsonl:1"), std::string::npos);
}

// The figures of docs/environments.md.
TEST_F(RetrievalTest, DISABLED_TimeOfACall) {
  std::string rows;
  uint64_t state = 1;
  const auto draw = [&] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 33; };
  for (int i = 0; i < 100'000; ++i) {
    rows += "{\"text\": \"";
    for (int k = 0; k < 100; ++k) {
      const uint64_t bits = draw();
      rows += "w" + std::to_string((bits % 200) * (bits / 200 % 200)) + " ";
    }
    rows += "\"}\n";
  }
  write("rows.jsonl", rows);
  using Clock = std::chrono::steady_clock;
  auto began = Clock::now();
  const auto retrieval = tool();
  printf("index of 100,000 passages of 100 words: %.1f s\n",
         std::chrono::duration<double>(Clock::now() - began).count());
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) {
    began = Clock::now();
    search(*retrieval,
           "w" + std::to_string(i * 7) + " w" + std::to_string(i * 31) + " w" + std::to_string(i));
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
  }
  std::ranges::sort(times);
  printf("a call: %.3f ms\n", times[50]);
}

}  // namespace
}  // namespace cohort
