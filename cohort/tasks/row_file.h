// One JSONL file whose lines can be read in any order, with eight bytes of memory per line.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/jsonl_reader.h"

namespace cohort {

/// Lines are indexed by the offset of their first byte. A compressed file is decompressed once into a
/// temporary file without a name, because gzip and single-frame zstd, which tools write, can't be
/// read from the middle. Reading indexed lines is safe from several threads.
class RowFile {
 public:
  /// Throws FormatError naming the file.
  explicit RowFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }

  /// A pass over all lines, in order.
  JsonlReader reader() const;

  /// Adds the current line of `reader`; lines must be added in order.
  void add(const JsonlReader& reader) { add(reader.offset(), reader.line_number()); }
  void add(uint64_t offset, int64_t line_number);

  int64_t num_rows() const { return static_cast<int64_t>(offsets_.size()); }

  /// From 1. Counts newlines of at most kRowsPerMark rows.
  int64_t line_number(int64_t row) const;

  /// The row as an object. Throws FormatError naming file and line, also if the file was changed since it
  /// was opened.
  Json row(int64_t row) const;

 private:
  std::string line_at(uint64_t offset) const;
  int64_t count_newlines(uint64_t begin, uint64_t end) const;

  std::filesystem::path path_;
  std::shared_ptr<const InputFile> data_;  // decompressed
  std::deque<uint64_t> offsets_;           // a deque, because a growing vector takes three times its size
  std::vector<int64_t> marks_;             // the line number of every kRowsPerMark-th row
};

/// The regular files that `patterns` name, in order: a path, or a pattern with * ? [ ] whose matches come
/// sorted by name. Throws ConfigError for a pattern without a match and for a file that is named twice.
std::vector<std::filesystem::path> expand_paths(const std::vector<std::string>& patterns);

}  // namespace cohort
