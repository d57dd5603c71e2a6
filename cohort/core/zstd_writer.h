// A file that is compressed while it is written.
#pragma once

#include <zstd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "cohort/core/append_file.h"

namespace cohort {

/// Appends zstd frames to a file. Each can be read without those before it; decompressed() reads them all.
/// Memory does not grow with the data. All members throw FormatError naming the file when the system refuses.
class ZstdWriter {
 public:
  /// Creates the file if it is missing.
  explicit ZstdWriter(std::filesystem::path path);
  ~ZstdWriter();
  ZstdWriter(const ZstdWriter&) = delete;
  ZstdWriter& operator=(const ZstdWriter&) = delete;

  /// Adds bytes to the frame that is open, which the first ones begin.
  void append(std::string_view bytes);

  void end_frame();

  /// Bytes of the file; after end_frame(), where the next frame begins.
  int64_t size() const { return file_.size(); }

  /// Waits until the frames that have ended are on the disk.
  void sync() { file_.sync(); }

 private:
  void compress(std::string_view bytes, ZSTD_EndDirective directive);

  AppendFile file_;
  ZSTD_CCtx* context_;
  std::string buffer_;
};

}  // namespace cohort
