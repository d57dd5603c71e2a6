// Reading a user's JSONL: columns reach the fields, bad rows name their line.
#include "cohort/tasks/dataset.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace cohort {
namespace {

std::vector<int32_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

class Dataset : public testing::Test {
 protected:
  ~Dataset() override { std::filesystem::remove(path_); }

  std::vector<Prompt> read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_prompts(path_, bytes_of);
  }

  // The error's text for a file that must be refused.
  std::string refuse(const std::string& text) {
    try {
      read(text);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "accepted";
  }

  std::string name_ = "cohort_dataset_" + std::to_string(getpid()) + ".jsonl";
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / name_;
};

TEST_F(Dataset, ReadsPromptsAndColumns) {
  std::vector<Prompt> prompts =
      read("{\"answer\": 4, \"prompt\": \"2+2\"}\n\n  \r\n{\"prompt\":\"\\u00e9\",\"tags\":[\"x\"]}");
  ASSERT_EQ(prompts.size(), 2u);
  EXPECT_EQ(prompts[0].id, name_ + ":1");
  EXPECT_EQ(prompts[0].text, "2+2");
  EXPECT_EQ(prompts[0].token_ids, (std::vector<int32_t>{'2', '+', '2'}));
  EXPECT_EQ(prompts[0].fields, Json({{"answer", 4}}));
  EXPECT_EQ(prompts[1].id, name_ + ":4");
  EXPECT_EQ(prompts[1].text, "\xc3\xa9");
  EXPECT_EQ(prompts[1].fields, Json::parse(R"({"tags":["x"]})"));
}

TEST_F(Dataset, BadRowsNameTheirLine) {
  const std::string good = "{\"prompt\":\"a\"}\n";
  for (const char* bad :
       {"{\"question\":\"a\"}", "{\"prompt\":3}", "{\"prompt\":null}", "{\"prompt\":[{\"role\":\"user\"}]}",
        "{\"prompt\":\"\"}", "[1]", "\"a\"", "{\"prompt\":\"a\"", "nonsense"}) {
    std::string message = refuse(good + good + bad + "\n" + good);
    EXPECT_NE(message.find(name_ + ":3"), std::string::npos) << bad << " gave: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST_F(Dataset, RefusesAFileWithoutRows) {
  EXPECT_NE(refuse("\n\n").find("no prompts"), std::string::npos);
  EXPECT_THROW(read_prompts("/nowhere/at/all.jsonl", bytes_of), FormatError);
}

}  // namespace
}  // namespace cohort
