// TensorBoard's event files, written without its libraries: TFRecords of protobuf `Event`s with scalar
// summaries. Record = length (u64), masked crc32c of the length, data, masked crc32c of the data; all
// little-endian.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "cohort/core/append_file.h"
#include "cohort/core/metrics.h"

namespace cohort {

/// CRC-32C (Castagnoli), as in RFC 3720 appendix B.4.
uint32_t crc32c(std::string_view bytes);

/// The crc32c as TFRecords store it: rotated right by 15 bits, plus a constant.
uint32_t masked_crc32c(std::string_view bytes);

/// An event file; its name must contain "tfevents" for TensorBoard to find it.
class TensorBoardWriter : public AppendFile {
 public:
  using AppendFile::AppendFile;

  /// Appends one event with all scalars, rounded to float32; an empty file gets TensorBoard's version record
  /// first. Wall time: seconds since 1970.
  void write(int64_t step, double wall_time_s, const Metrics& scalars);
};

}  // namespace cohort
