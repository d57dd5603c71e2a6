// Files that a user names: only regular ones are opened, and nothing is waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace cohort {

/// A regular file, open for reading at any place. Any number of threads may read one object.
class InputFile {
 public:
  /// Throws FormatError naming the path for what is missing or can't be read and for what is no regular file,
  /// such as a folder, a FIFO, a device or a loop of links.
  explicit InputFile(const std::filesystem::path& path);

  /// A new file without a name in the system's folder for temporary files (TMPDIR), of which nothing is left
  /// when the object goes. `path` stands for it in messages. Throws FormatError when there is no room for it.
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

  /// Whether somebody wrote to the file since it was opened.
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
