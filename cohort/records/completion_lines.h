// Lines of completions by their places, wherever they are.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cohort/records/completion_files.h"
#include "cohort/records/completion_index.h"

namespace cohort {

/// Keeps what was decompressed of the two files that were read last. Not thread-safe.
class CompletionLines {
 public:
  /// `max_bytes`: of the decompressed files that are kept. A line may be longer.
  explicit CompletionLines(std::filesystem::path run, size_t max_bytes = size_t{24} << 20)
      : run_(std::move(run)), max_bytes_(max_bytes) {}

  /// Reads from these files from now on.
  void set_files(std::shared_ptr<const CompletionFiles> files) { files_ = std::move(files); }

  /// The line of an entry, without its end. If the files do not have it, those that the run has by now are
  /// tried. Throws FormatError if they do not have it either.
  std::string read(const CompletionEntry& entry);

 private:
  /// A part of a compressed file.
  struct Window {
    uint32_t file = 0;
    int64_t begin = 0;  ///< place of `bytes` in the file
    std::string bytes{};
    std::unique_ptr<ByteStream> stream{};  ///< what comes after them; null: nothing is open
  };
  std::optional<std::string> find(const CompletionEntry& entry);
  std::string read_current(const CompletionEntry& entry) const;
  std::string read_compressed(const CompletionEntry& entry);
  Window& window_at(uint32_t file, int64_t place);
  static void close(Window& window);
  bool read_more(Window& window, int64_t place);
  void refresh();

  std::filesystem::path run_;
  size_t max_bytes_;
  std::string part_;  ///< of a file, on its way to a window
  std::shared_ptr<const CompletionFiles> files_;
  std::array<Window, 2> windows_;  ///< the first one was read last
};

}  // namespace cohort
