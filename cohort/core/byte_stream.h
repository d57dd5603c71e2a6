// Bytes in order, from files that may be compressed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cohort/core/input_file.h"

namespace cohort {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Writes up to `size` bytes (at least 1) and returns how many; 0 at the end only. Throws FormatError.
  virtual size_t read(char* out, size_t size) = 0;
};

enum class Compression { kNone, kGzip, kZstd };

/// The format by a file's first bytes (kFormatBytes are enough), not by its name. Throws FormatError
/// beginning with `name` for formats that are known but not read (foreign_format.h).
Compression compression_of(std::string_view first_bytes, const std::string& name);

/// The bytes of a file from byte `begin` on, unchanged.
std::unique_ptr<ByteStream> file_stream(std::shared_ptr<const InputFile> file, uint64_t begin = 0);

/// `text` must outlive the stream.
std::unique_ptr<ByteStream> memory_stream(std::string_view text);

/// The bytes of `source`, decompressed if it is gzip or zstd (also several members or frames in a row).
/// Memory does not grow with the data. Reading throws FormatError beginning with `name` if the compressed
/// data are damaged or cut short, or expand to more than 1100 times (and 64 MiB more than) their size.
std::unique_ptr<ByteStream> decompressed(std::unique_ptr<ByteStream> source, const std::string& name);

}  // namespace cohort
