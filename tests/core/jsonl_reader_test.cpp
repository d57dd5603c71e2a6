// JSONL, plain and compressed: every line is a row, blank or refused with its number.
#include "cohort/core/jsonl_reader.h"

#include "cohort/core/error.h"
#include "tests/core/compressed.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

/// What a pass over a text gives: rows by line number, and refusals.
struct Pass {
  std::vector<std::pair<int64_t, Json>> rows;
  std::vector<std::string> errors;
};

Pass read_all(const std::string& text) {
  Pass pass;
  JsonlReader reader(decompressed(memory_stream(text), "f"), "f");
  try {
    while (reader.next()) {
      try {
        pass.rows.emplace_back(reader.line_number(), reader.row());
      } catch (const FormatError& error) {
        pass.errors.emplace_back(error.what());
      }
    }
  } catch (const FormatError& error) {
    pass.errors.emplace_back(error.what());
  }
  return pass;
}

TEST(JsonlReader, SkipsWhatIsNoRow) {
  const Pass pass = read_all("\xEF\xBB\xBF{\"a\":1}\r\n\n \t\r\n{\"a\":2}\n\n{\"a\":3}");
  EXPECT_TRUE(pass.errors.empty());
  ASSERT_EQ(pass.rows.size(), 3u);
  EXPECT_EQ(pass.rows[0], std::make_pair(int64_t{1}, Json{{"a", 1}}));
  EXPECT_EQ(pass.rows[1], std::make_pair(int64_t{4}, Json{{"a", 2}}));
  EXPECT_EQ(pass.rows[2], std::make_pair(int64_t{6}, Json{{"a", 3}}));
  EXPECT_TRUE(read_all("").rows.empty());
  EXPECT_TRUE(read_all("\n\n").rows.empty());
}

TEST(JsonlReader, LinesLongerThanTheBufferAndLineSeparatorsInStrings) {
  const std::string text(200000, 'x');
  const Pass pass = read_all("{\"a\":\"" + text + "\"}\n{\"b\":\"\xE2\x80\xA8\"}\n");
  ASSERT_EQ(pass.rows.size(), 2u);
  EXPECT_EQ(pass.rows[0].second["a"], text);
  EXPECT_EQ(pass.rows[1].second["b"], "\xE2\x80\xA8");
}

TEST(JsonlReader, OffsetsLeadBackToTheLines) {
  const std::string text = "\xEF\xBB\xBF{\"a\":1}\r\n\n{\"a\":2}\n   \n {\"a\":3}\n";
  JsonlReader reader(memory_stream(text), "f");
  while (reader.next()) {
    EXPECT_EQ(text.substr(reader.offset(), reader.text().size()), reader.text());
  }
  EXPECT_EQ(reader.line_number(), 5);
}

/// A file of three lines, the second of which must be refused with its number and one line of message.
struct Malformed {
  const char* name;
  std::string line;
  std::string part;  // of the message
};

std::vector<Malformed> malformed_lines() {
  const auto nested = [](size_t depth) { return "{\"a\":" + std::string(depth, '['); };
  return {
      {"list", "[1]", "expected a JSON object"},
      {"number", "1", "expected a JSON object"},
      {"string", "\"a\"", "expected a JSON object"},
      {"null", "null", "expected a JSON object"},
      {"true", "true", "expected a JSON object"},
      {"no quotes", "{a:1}", "malformed JSON at byte 2"},
      {"single quotes", "{'a':1}", "malformed JSON at byte 2"},
      {"text", "hello", "malformed JSON at byte 1"},
      {"unfinished object", "{\"a\":1", "malformed JSON at byte 7"},
      {"unfinished string", "{\"a\":\"x", "malformed JSON"},
      {"unfinished key", "{\"a", "malformed JSON"},
      {"unfinished escape", "{\"a\":\"\\", "malformed JSON"},
      {"unfinished list", "{\"a\":[1,2", "malformed JSON"},
      {"no value", "{\"a\":}", "malformed JSON at byte 6"},
      {"no colon", "{\"a\" 1}", "malformed JSON"},
      {"trailing comma", "{\"a\":1,}", "malformed JSON at byte 8"},
      {"trailing comma in a list", "{\"a\":[1,]}", "malformed JSON"},
      {"two commas", "{\"a\":1,,\"b\":2}", "malformed JSON"},
      {"two objects", "{\"a\":1}{\"a\":2}", "malformed JSON at byte 8"},
      {"object and text", "{\"a\":1} x", "malformed JSON"},
      {"closing only", "}", "malformed JSON at byte 1"},
      {"mixed brackets", "{\"a\":[1}", "malformed JSON"},
      {"comment", "{\"a\":1} // x", "malformed JSON"},
      {"NaN", "{\"a\":NaN}", "malformed JSON"},
      {"Infinity", "{\"a\":-Infinity}", "malformed JSON"},
      {"Python's None", "{\"a\":None}", "malformed JSON"},
      {"huge number", "{\"a\":1e999}", "malformed JSON"},
      {"leading zero", "{\"a\":01}", "malformed JSON"},
      {"leading plus", "{\"a\":+1}", "malformed JSON"},
      {"hexadecimal", "{\"a\":0x10}", "malformed JSON"},
      {"bare point", "{\"a\":1.}", "malformed JSON"},
      {"tab in a string", "{\"a\":\"\t\"}", "malformed JSON"},
      {"bell in a string", "{\"a\":\"\a\"}", "malformed JSON"},
      {"unknown escape", "{\"a\":\"\\x41\"}", "malformed JSON"},
      {"short escape", "{\"a\":\"\\u12\"}", "malformed JSON"},
      {"high surrogate alone", R"({"a":"\ud800"})", "malformed JSON"},
      {"high surrogate and text", R"({"a":"\ud800x"})", "malformed JSON"},
      {"two high surrogates", R"({"a":"\ud800\ud800"})", "malformed JSON"},
      {"low surrogate alone", R"({"a":"\udc00"})", "malformed JSON"},
      {"NUL", std::string("{\"a\":\"\0\"}", 9), "a NUL byte at byte 7"},
      {"NUL behind the object", std::string("{}\0", 3), "a NUL byte at byte 3"},
      {"Latin-1", "{\"a\":\"\xE9\"}", "not UTF-8 at byte 7"},
      {"unfinished UTF-8", "{\"a\":\"\xE2\x82\"}", "not UTF-8 at byte 7"},
      {"continuation byte", "{\"a\":\"\x80\"}", "not UTF-8 at byte 7"},
      {"overlong slash", "{\"a\":\"\xC0\xAF\"}", "not UTF-8 at byte 7"},
      {"overlong in three", "{\"a\":\"\xE0\x80\xAF\"}", "not UTF-8 at byte 7"},
      {"encoded surrogate", "{\"a\":\"\xED\xA0\x80\"}", "not UTF-8 at byte 7"},
      {"beyond Unicode", "{\"a\":\"\xF4\x90\x80\x80\"}", "not UTF-8 at byte 7"},
      {"byte FF", "{\"a\":\"x\xFF\"}", "not UTF-8 at byte 8"},
      {"cut character at the end", "{\"a\":\"\xF0\x9F", "not UTF-8 at byte 7"},
      {"byte order mark inside", "\xEF\xBB\xBF{}x", "malformed JSON"},
      {"UTF-16", std::string("{\0\"\0a\0\"\0", 8), "a NUL byte at byte 2"},
      {"key twice", R"({"a":1,"b":2,"a":3})", R"(the key "a" comes twice)"},
      {"key twice below", R"({"a":[{"b":1,"b":1}]})", R"(the key "b" comes twice)"},
      {"key twice by escape", R"({"a":1,"\u0061":3})", R"(the key "a" comes twice)"},
      {"nested too deep", nested(300), "nested deeper than 256 levels at byte 261"},
      {"nested a million deep", nested(1000000), "nested deeper than 256 levels"},
      {"objects too deep",
       [] {
         std::string text;
         for (int i = 0; i < 300; ++i) text += "{\"a\":";
         return text;
       }(),
       "nested deeper than 256 levels"},
      {"too long", "{\"a\":\"" + std::string(kMaxLineBytes, 'x') + "\"}", "longer than 16 MiB"},
      {"too long and blank at first", std::string(kMaxLineBytes + 1, ' ') + "x", "longer than 16 MiB"},
  };
}

TEST(JsonlReader, MalformedLinesAreNamedAndTheNextOneIsRead) {
  const std::vector<Malformed> lines = malformed_lines();
  EXPECT_GE(lines.size(), 55u);
  for (const Malformed& malformed : lines) {
    const Pass pass = read_all("{\"a\":1}\n" + malformed.line + "\n{\"a\":3}\n");
    ASSERT_EQ(pass.errors.size(), 1u) << malformed.name;
    const std::string& message = pass.errors[0];
    EXPECT_TRUE(message.starts_with("f:2: ")) << malformed.name << ": " << message;
    EXPECT_NE(message.find(malformed.part), std::string::npos) << malformed.name << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << malformed.name;
    EXPECT_LT(message.size(), 250u) << malformed.name;
    ASSERT_EQ(pass.rows.size(), 2u) << malformed.name;
    EXPECT_EQ(pass.rows[1].first, 3) << malformed.name;
  }
}

std::string many_rows(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += str("{\"n\":", i, ",\"s\":\"", std::hash<int>{}(i) * 2654435761u, "\"}\n");
  return text;
}

TEST(JsonlReader, CompressedFilesAreToldByTheirBytes) {
  const std::string text = many_rows(20000);
  const size_t half = text.find('\n', text.size() / 2) + 1;
  const std::string first = text.substr(0, half), second = text.substr(half);
  const std::string skippable("\x52\x2A\x4D\x18\x03\x00\x00\x00xyz", 11);
  for (const std::string& data : {gzipped(text), zstandard(text), gzipped(first) + gzipped(second),
                                  zstandard(first) + zstandard(second), skippable + zstandard(text)}) {
    const Pass pass = read_all(data);
    ASSERT_EQ(pass.errors, std::vector<std::string>{});
    ASSERT_EQ(pass.rows.size(), 20000u);
    EXPECT_EQ(pass.rows.back(), std::make_pair(int64_t{20000}, read_all(text).rows.back().second));
  }
  EXPECT_TRUE(read_all(gzipped("")).errors.empty());
  EXPECT_TRUE(read_all(zstandard("")).errors.empty());
}

TEST(JsonlReader, DamagedCompressedDataAreRefusedAfterTheRowsBefore) {
  const std::string text = many_rows(20000);
  for (const auto& compress : {gzipped, zstandard}) {
    const std::string data = compress(text);
    std::vector<std::string> broken;
    for (const double share : {0.0005, 0.3, 0.7, 0.9999}) {
      broken.push_back(data.substr(0, static_cast<size_t>(share * static_cast<double>(data.size()))));
    }
    broken.push_back(data.substr(0, data.size() - 1));
    broken.push_back(data + "trailing text");
    std::string flipped = data;
    for (size_t i = data.size() / 2; i < data.size() / 2 + 64; ++i)
      flipped[i] = static_cast<char>(~flipped[i]);
    broken.push_back(flipped);
    broken.push_back(data.substr(0, 4));
    for (const std::string& bytes : broken) {
      const Pass pass = read_all(bytes);
      ASSERT_FALSE(pass.errors.empty()) << bytes.size();
      EXPECT_TRUE(pass.errors.back().starts_with("f: ")) << pass.errors.back();
      EXPECT_NE(pass.errors.back().find("of the compressed data"), std::string::npos) << pass.errors.back();
      if (bytes == flipped) continue;  // that a checksum is wrong shows at the end
      for (size_t i = 0; i + 1 < pass.rows.size(); ++i) ASSERT_EQ(pass.rows[i].second["n"], i);
    }
  }
}

TEST(JsonlReader, RowsOfAFile) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "rows.any";
  write_text(path, gzipped("{\"a\":1}\n{\"a\":2}\n"));
  EXPECT_EQ(read_rows(path), (std::vector<Json>{{{"a", 1}}, {{"a", 2}}}));
  write_text(path, "{}\n[]\n");
  EXPECT_EQ(message_of<FormatError>([&] { read_rows(path); }),
            path.string() + ":2: expected a JSON object on this line");
}

}  // namespace
}  // namespace cohort
