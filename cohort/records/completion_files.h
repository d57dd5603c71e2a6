// The files that hold a run's completions, as they are at one moment:
//
//   completions.jsonl                  the newest steps: the current file
//   completions/00000001.jsonl.zst     those from step 1 to the next file, compressed
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cohort/core/byte_stream.h"

namespace cohort {

std::filesystem::path compressed_folder(const std::filesystem::path& run);

/// <first step in 8 digits>.jsonl.zst in `folder`.
std::filesystem::path compressed_file(const std::filesystem::path& folder, int64_t first_step);

/// The first steps of the compressed files in `folder`, ascending.
std::vector<int64_t> first_steps(const std::filesystem::path& folder);

/// The step of the first line of a file; nothing if no line ends. Throws FormatError for a line without a
/// step.
std::optional<int64_t> first_step_in(const std::filesystem::path& path);

using OnLine = std::function<void(std::string_view line, int64_t place)>;

/// All files of a run at one moment, although the run may write, compress and restore lines. They can be read
/// as long as the object lives, unless the run cuts them. All members throw FormatError naming a file that
/// can't be read.
class CompletionFiles {
 public:
  explicit CompletionFiles(const std::filesystem::path& run);

  /// The first steps of all files with lines, ascending. Copies of lines of the current file are left out.
  const std::vector<int64_t>& files() const { return files_; }

  /// The step of the current file's first line; nothing while it has none.
  std::optional<int64_t> current() const { return current_; }

  std::filesystem::path path_of(int64_t first_step) const;

  /// The decompressed bytes of a file from byte `begin` on.
  std::unique_ptr<ByteStream> open(int64_t first_step, int64_t begin = 0) const;

  /// Calls f(line, place of its first byte) for each line of a file that ends, from byte `begin` on. A line
  /// is valid during its call.
  void for_each_line(int64_t first_step, int64_t begin, const OnLine& f) const;

  /// Whether both have the same files; the current one may have grown.
  bool has_files_of(const CompletionFiles& other) const;

 private:
  bool read_once();

  std::filesystem::path path_, folder_;
  std::shared_ptr<const InputFile> current_file_;
  uint64_t current_id_ = 0;  ///< another one once the file is replaced
  std::optional<int64_t> current_;
  std::vector<int64_t> files_;
};

}  // namespace cohort
