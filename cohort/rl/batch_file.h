// Batches on disk, bit for bit. Layout, in the byte order of the machine (little endian on all supported
// ones):
//
//   "COHBATCH"  uint32 version  step, reward names, weights, gives_steps      the header
//   'G' or 'U'  uint64 bytes    a group, or an untrained group                any number of records
//   'E'         uint64 0                                                      the end; missing while it is
//   being made
//
// Values are laid out as byte_archive.h says; batch_fields.cpp has the members of a group.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "cohort/core/append_file.h"
#include "cohort/rl/batch.h"

namespace cohort {

constexpr uint32_t kBatchVersion = 6;

/// The bytes of a whole batch.
std::string to_bytes(const Batch& batch);

/// Writes a batch during its step. All members throw FormatError naming the file if the system
/// refuses.
class BatchWriter {
 public:
  /// Replaces the file by the header of `batch`; its groups are not written.
  BatchWriter(const std::filesystem::path& path, const Batch& batch);

  /// Appends a record and hands it to the operating system.
  void add(const Group& group);
  void add(const UntrainedGroup& group);

  /// Ends the file. Without this call the file counts as an unfinished batch.
  void finish();

 private:
  AppendFile file_;
};

/// Writes a whole batch: a temporary file beside `path`, then a rename. A process that is killed leaves the
/// old file or the new one.
void write_batch(const std::filesystem::path& path, const Batch& batch);

/// A batch from a file, and whether the file is finished.
struct ReadBatch {
  Batch batch;
  bool is_finished = false;
};

/// Reads all complete records of a file. Throws FormatError naming the file for one that is not a batch, is
/// of another version or is damaged; a file that stops within a record counts as unfinished.
ReadBatch read_batch(const std::filesystem::path& path);

}  // namespace cohort
