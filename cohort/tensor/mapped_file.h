// A whole file in memory, read on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace cohort {

class MappedFile {
 public:
  /// Throws FormatError naming the file when it cannot be opened or mapped.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Writable, but private: what is written stays in this process. Null when the file is empty.
  std::byte* data() const { return data_; }
  uint64_t num_bytes() const { return num_bytes_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t num_bytes_ = 0;
};

}  // namespace cohort
