// The one reader of JSONL: lines of UTF-8 that hold a JSON object each, plain or compressed, in bounded
// memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/byte_stream.h"
#include "cohort/core/json.h"

namespace cohort {

/// Longer lines are refused, and not kept in memory.
constexpr size_t kMaxLineBytes = size_t{16} << 20;

/// A line as an object; `name` and `line_number` are for messages. Throws FormatError for lines that are too
/// long, hold a NUL byte or a repeated key, or are not UTF-8, not JSON or not an object.
Json parse_row(const std::string& line, const std::string& name, int64_t line_number);

/// A pass over the lines of a file. A byte order mark, a carriage return at a line's end and lines of white
/// space alone are skipped; the last line needs no end.
class JsonlReader {
 public:
  /// A regular file; its first bytes decide whether it is gzip or zstd. Throws FormatError as InputFile does.
  explicit JsonlReader(const std::filesystem::path& path);

  /// The bytes of `stream` without decompression; errors name `name` as the file.
  JsonlReader(std::unique_ptr<ByteStream> stream, std::string name);

  /// Moves to the next line that is not blank; false at the end. Throws FormatError if compressed data are
  /// damaged; no further line can be read then.
  bool next();

  /// The line without its end; cut after kMaxLineBytes + 1 bytes.
  const std::string& text() const { return text_; }
  int64_t line_number() const { return line_number_; }  ///< from 1, blank lines counted
  uint64_t offset() const { return offset_; }           ///< of the line's first byte, decompressed
  const std::string& name() const { return name_; }
  std::string where() const;  ///< "FILE:LINE"

  /// The line as an object. Throws FormatError as parse_row does; `next` still works then.
  Json row() const { return parse_row(text_, name_, line_number_); }

 private:
  bool read_line();
  bool fill();

  std::unique_ptr<ByteStream> stream_;
  std::string name_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  std::string text_;
  int64_t line_number_ = 0;
  uint64_t offset_ = 0;
  uint64_t next_offset_ = 0;
};

/// Calls `f(row, "FILE:LINE")` for every row. Throws FormatError at the first line that is not an object.
using OnRow = std::function<void(const Json& row, const std::string& where)>;
void for_each_row(JsonlReader reader, const OnRow& f);

/// All rows of a file.
std::vector<Json> read_rows(const std::filesystem::path& path);

}  // namespace cohort
