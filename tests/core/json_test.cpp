#include "cohort/core/json.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST_F(JsonFile, TheLastOfSeveralKeysCounts) {
  EXPECT_EQ(read_json(write(R"({"a": 1, "b": {"x": 1, "y": 2, "x": [3]}, "a": 4})")).dump(),
            R"({"a":4,"b":{"x":[3],"y":2}})");
}

TEST_F(JsonFile, ManyKeysTakeNoQuadraticTime) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += str(i == 0 ? "" : ",", "\"", i, "\":", i);
  const Json value = read_json(write(text + "}"));
  EXPECT_EQ(value.size(), 200000u);
}

TEST_F(JsonFile, OnlyRegularFilesAreOpened) {
  const auto refuse = [](const std::filesystem::path& path) {
    return message_of<FormatError>([&] { read_json(path); });
  };
  const std::filesystem::path fifo = directory_.path() / "fifo", loop = directory_.path() / "loop";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_symlink(loop, loop);
  EXPECT_EQ(refuse(fifo), fifo.string() + ": is a FIFO; name a regular file");
  EXPECT_EQ(refuse(directory_.path()), directory_.path().string() + ": is a folder; name a regular file");
  EXPECT_EQ(refuse("/dev/null"), "/dev/null: is a device; name a regular file");
  EXPECT_TRUE(refuse(loop).starts_with(loop.string() + ": can't be read: Too many levels")) << refuse(loop);
  EXPECT_TRUE(refuse(directory_.path() / "missing").ends_with("does the file exist?"));
  std::filesystem::create_symlink(write("{}"), directory_.path() / "link");
  EXPECT_NO_THROW(read_json(directory_.path() / "link"));
}

TEST(JsonText, MessagesDoNotQuoteWhatIsRead) {
  const std::string line = "{\"a\": \"" + std::string(100000, 'x');
  const std::string message = message_of<FormatError>([&] { parse_json_line(line, "f", 7); });
  EXPECT_TRUE(message.starts_with("f:7: malformed JSON at byte ")) << message.substr(0, 200);
  EXPECT_LT(message.size(), 250u);
}

}  // namespace
}  // namespace cohort
