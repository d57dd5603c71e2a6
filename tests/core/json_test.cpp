#include "cohort/core/json.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

class JsonFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    write_text(path_, text);
    return path_;
  }
  std::string error_of_reading(const std::string& text) {
    return message_of<FormatError>([&] { read_json(write(text)); });
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "x.json";
};

TEST_F(JsonFile, KeepsTheOrderOfKeys) {
  const Json value = read_json(write(R"({"b": 1, "a": [2, 3.5, null]})"));
  EXPECT_EQ(value.dump(), R"({"b":1,"a":[2,3.5,null]})");
}

TEST_F(JsonFile, NamesFileLineAndByteOfAnError) {
  const std::string message = error_of_reading("{\n\"a\": 1,\n\"b\": tru\n}");
  EXPECT_TRUE(message.starts_with(path_.string() + ":3: malformed JSON at byte ")) << message;
}

TEST_F(JsonFile, RefusesNanMissingFilesAndTextAfterTheValue) {
  error_of_reading(R"({"a": NaN})");
  error_of_reading("[1] [2]");
  error_of_reading("");
  EXPECT_THROW(read_json(directory_.path() / "missing.json"), FormatError);
  EXPECT_THROW(read_json(directory_.path()), FormatError);
}

TEST_F(JsonFile, RefusesDeepNestingButNotBracketsInStrings) {
  const std::string message = error_of_reading("\n" + std::string(1000000, '['));
  EXPECT_TRUE(message.starts_with(path_.string() + ":2: ")) << message;
  EXPECT_NE(message.find("at byte 258"), std::string::npos) << message;
  EXPECT_NO_THROW(read_json(write(std::string(256, '[') + std::string(256, ']'))));
  EXPECT_NO_THROW(read_json(write("[\"\\\"" + std::string(1000, '[') + "\"]")));
}

TEST_F(JsonFile, WritesWhatItReads) {
  const Json value = {
      {"text", "ä\n"}, {"tenth", 0.1}, {"float", static_cast<double>(0.1f)}, {"big", 9007199254740993}};
  write_json(path_, value);
  EXPECT_EQ(read_json(path_), value);
  EXPECT_EQ(read_text(path_).back(), '\n');
}

TEST(JsonText, RefusesWhatJsonDoesNotHave) {
  EXPECT_THROW(to_json_text({{"a", {1.0, std::nan("")}}}), InternalError);
  EXPECT_THROW(to_json_text(INFINITY), InternalError);
}

TEST(JsonText, ReplacesBytesThatAreNoUtf8) { EXPECT_EQ(to_json_text(Json("a\xff")), "\"a\xEF\xBF\xBD\""); }

TEST_F(JsonFile, LinesAreObjectsAndBlankOnesSkipped) {
  const std::vector<Json> rows = read_jsonl(write("{\"a\":1}\r\n\n  \n{\"a\":2}"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["a"], 2);
  const std::string message = message_of<FormatError>([&] { read_jsonl(write("{}\n\n[1]\n")); });
  EXPECT_EQ(message, path_.string() + ":3: expected a JSON object on this line");
  const std::string malformed = message_of<FormatError>([&] { read_jsonl(write("{}\n{\"a\":}\n")); });
  EXPECT_TRUE(malformed.starts_with(path_.string() + ":2: malformed JSON at byte 6")) << malformed;
}

}  // namespace
}  // namespace cohort
