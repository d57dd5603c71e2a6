// Files that a user names: only regular files are opened, and no call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace cohort {

/// A regular file, open for reading at any place. Any number of threads may read one object.
class InputFile {
 public:
  /// Throws FormatError naming the path if the file is missing, can't be read or is not a regular file,
  /// such as a folder, a FIFO, a device or a loop of links.
  explicit InputFile(const std::filesystem::path& path);

  /// A new file without a name in the system's folder for temporary files (TMPDIR), which disappears with the
  /// object. Messages call it `path`. Throws FormatError if there is no room for it.
  static InputFile temporary(const std::filesystem::path& path);

  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  uint64_t num_bytes() const { return num_bytes_; }

  /// Up to `size` bytes from byte `offset` on; returns how many, fewer at the file's end only. Throws
  /// FormatError.
  size_t read_at(char* out, size_t size, uint64_t offset) const;

  /// Whether anything wrote to the file since it was opened.
  bool has_changed() const;

  /// Adds bytes to a temporary file. Throws FormatError naming the folder when it is full.
  void append(const char* bytes, size_t size);

 private:
  InputFile(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}

  std::filesystem::path path_;
  int file_ = -1;
  uint64_t num_bytes_ = 0;
  int64_t modified_ns_ = 0;
};

/// All bytes of a regular file. Throws FormatError as InputFile does, and for a Git LFS pointer.
std::string read_whole_file(const std::filesystem::path& path);

}  // namespace cohort
