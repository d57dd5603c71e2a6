// A file that is compressed while it is written.
#pragma once

#include <zstd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "cohort/core/append_file.h"

namespace cohort {

/// Writes one zstd frame, which decompressed() and every other reader of the format reads. Memory does not
/// grow with the data. All members throw FormatError naming the file when the system refuses.
class ZstdWriter {
 public:
  /// The file must be new.
  explicit ZstdWriter(std::filesystem::path path);
  ~ZstdWriter();
  ZstdWriter(const ZstdWriter&) = delete;
  ZstdWriter& operator=(const ZstdWriter&) = delete;

  void append(std::string_view bytes);

  /// Ends the frame, then waits until the file is on the disk.
  void finish();

 private:
  void compress(std::string_view bytes, ZSTD_EndDirective directive);

  AppendFile file_;
  ZSTD_CCtx* context_;
  std::string buffer_;
};

}  // namespace cohort
