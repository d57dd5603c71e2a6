// Files that are no JSONL: the message names the format and the way to JSONL.
#include "cohort/core/foreign_format.h"

#include <gtest/gtest.h>

#include "cohort/core/byte_stream.h"
#include "cohort/core/error.h"
#include "cohort/core/input_file.h"
#include "cohort/core/jsonl_reader.h"
#include "tests/core/compressed.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

using namespace std::string_literals;

std::string message_of_rows(const std::string& bytes, const std::string& name) {
  return message_of<FormatError>([&] {
    JsonlReader reader(decompressed(memory_stream(bytes), name), name);
    while (reader.next()) reader.row();
  });
}

TEST(ForeignFormat, BinaryFormatsAreNamed) {
  const std::pair<std::string, std::string> kFiles[] = {
      {"PAR1\x15\x04", "a Parquet file"},
      {"ARROW1\0\0\x10"s, "an Arrow file"},
      {"\xFF\xFF\xFF\xFF\x78\x01\0\0"s, "an Arrow file"},
      {"FEA1\x08", "a Feather file"},
      {"ORC\x11", "an ORC file"},
      {"Obj\x01\x04", "an Avro file"},
      {"\x89HDF\r\n\x1a\n", "an HDF5 file"},
      {"SQLite format 3\0\x10"s, "an SQLite file"},
      {"\x93NUMPY\x01", "a NumPy file"},
      {"\xD0\xCF\x11\xE0\xA1\xB1", "an Excel file"},
      {"%PDF-1.7\n", "a PDF file"},
      {"\xFD\x37zXZ", "an xz file"},
      {"BZh91AY", "a bzip2 file"},
      {"PK\x03\x04\x14", "a zip file"},
      {"\x04\x22\x4D\x18\x64", "an lz4 file"},
      {"\xFF\xFE{\0\"\0"s, "UTF-16 text"},
      {"\xFE\xFF\0{\0\""s, "UTF-16 text"},
      {"{\0\"\0p\0"s, "UTF-16LE text"},
      {"\0{\0\"\0p"s, "UTF-16BE text"},
      {"\xFF\xFE\0\0{\0\0\0"s, "UTF-32 text"},
  };
  for (const auto& [bytes, format] : kFiles) {
    const std::string message = message_of_rows(bytes, "dir/f");
    EXPECT_TRUE(message.starts_with("dir/f: is " + format + ", which is not read; ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  EXPECT_NE(message_of_rows("PK\x03\x04\x14", "t.xlsx").find("an Excel file"), std::string::npos);
}

TEST(ForeignFormat, TextFormatsAreNamedBehindCompressionToo) {
  const std::tuple<std::string, std::string, std::string> kFiles[] = {
      {"question,answer\nwhy,so\n", "q.txt", "a CSV file"},
      {"\"question\";\"answer\"\nwhy;so\n", "q", "a CSV file"},
      {"question\tanswer\nwhy\tso\n", "q.tsv.gz", "a CSV file"},
      {"question\nwhy\n", "q.CSV", "a CSV file"},
      {"[{\"prompt\": \"a\"}]", "q.json", "one JSON list"},
      {"\xEF\xBB\xBF\n  [\n  {\"prompt\": \"a\"}\n]\n", "q.json", "one JSON list"},
      {"{\n  \"prompt\": \"a\"\n}\n", "q.json", "JSON over several lines"},
      {"<!DOCTYPE html>\n<html></html>", "q.jsonl", "HTML or XML"},
  };
  for (const auto& [text, name, format] : kFiles) {
    for (const std::string& bytes : {text, gzipped(text)}) {
      const std::string message = message_of_rows(bytes, name);
      EXPECT_TRUE(message.starts_with(name + ": is " + format + ", which is not read; ")) << message;
    }
  }
  EXPECT_NE(message_of_rows("a;b\n1;2\n", "q").find("read_csv('q', sep=';', dtype=str)"), std::string::npos);
  EXPECT_NE(message_of_rows("question\nwhy\n", "q.csv").find("sep=',',"), std::string::npos);
  EXPECT_NE(message_of_rows("[]", "q.json.gz").find("gzip -dc 'q.json.gz' | jq -c '.[]' > 'q.json.gz.jsonl'"),
            std::string::npos);
  std::string tar(512, '\0');
  tar.replace(0, 10, "rows.jsonl").replace(257, 5, "ustar");
  EXPECT_NE(message_of_rows(gzipped(tar + "{}\n"), "q.tgz").find("is a tar archive"), std::string::npos);
  EXPECT_NE(message_of_rows("[]", "q.json").find("jq -c '.[]' 'q.json' > 'q.json.jsonl'"), std::string::npos);
}

TEST(ForeignFormat, RowsAreNoForeignFormat) {
  for (const char* text : {"{\"a\": 1}\n", "\xEF\xBB\xBF{\"a\": 1}\n", " \r\n\n{\"a\": 1}", "{}", ""}) {
    JsonlReader reader(memory_stream(text), "rows.csv");
    while (reader.next()) reader.row();
  }
  // A malformed first line stays a matter of that line.
  EXPECT_TRUE(message_of_rows("nonsense\n{\"a\": 1}\n", "f").starts_with("f:1: malformed JSON"));
  EXPECT_TRUE(message_of_rows("{\"a\": 1,\n", "f").starts_with("f:1: malformed JSON"));
}

TEST(ForeignFormat, LfsPointersAreNamedByEveryReader) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a21\nsize 2200119864\n";
  EXPECT_NE(message_of_rows(pointer, "f").find("f: is a Git LFS pointer"), std::string::npos);
  const TemporaryDirectory directory;
  const auto path = directory.path() / "config.json";
  write_text(path, pointer);
  const std::string expected = path.string() + ": is a Git LFS pointer";
  EXPECT_TRUE(message_of<FormatError>([&] { read_json(path); }).starts_with(expected));
  EXPECT_TRUE(message_of<FormatError>([&] { read_whole_file(path); }).starts_with(expected));
  EXPECT_TRUE(message_of<FormatError>([&] { read_rows(path); }).starts_with(expected));
}

}  // namespace
}  // namespace cohort
