// A file that only grows, and that a resumed run can cut back to the size in its checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace cohort {

/// Not for use from several threads at once. All members throw FormatError naming the file when the system
/// refuses.
class AppendFile {
 public:
  /// Opens `path` for appending and creates it if it is missing.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Adds bytes; they reach the file with the next `flush`.
  void append(std::string_view bytes) { buffer_ += bytes; }

  /// Hands all bytes to the operating system, so that they survive the end of this process.
  void flush();

  /// Flushes, then waits until the bytes are on the disk.
  void sync();

  /// Bytes written so far, unflushed ones included.
  int64_t size() const { return size_ + static_cast<int64_t>(buffer_.size()); }

  /// Flushes, then cuts the file to its first `bytes` bytes; it must be at least as long.
  void truncate_to(int64_t bytes);

 private:
  bool write_buffer();  ///< whether the system took all bytes; errno says why not

  std::filesystem::path path_;
  int file_ = -1;
  int64_t size_ = 0;  ///< bytes in the file
  std::string buffer_;
};

}  // namespace cohort
