// Files that close themselves, and failures of system calls.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cohort {

class UniqueFile {
 public:
  UniqueFile() = default;
  explicit UniqueFile(int file) : file_(file) {}
  UniqueFile(UniqueFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  UniqueFile& operator=(UniqueFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~UniqueFile() { reset(); }

  int get() const { return file_; }
  bool is_open() const { return file_ >= 0; }
  void reset() {
    if (file_ >= 0) close(std::exchange(file_, -1));
  }

 private:
  int file_ = -1;
};

/// Throws std::system_error for errno.
[[noreturn]] inline void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// `result` where it is not negative. Throws std::system_error for errno otherwise.
template <typename Result>
Result check(Result result, const std::string& what) {
  if (result < 0) throw_errno(what);
  return result;
}

/// Writes all of `text` to the file `path` below `folder`; whether that worked.
bool write_file(int folder, const std::string& path, const std::string& text);

/// Writes all of `bytes`, waiting where it must; whether that worked.
bool write_all(int file, std::string_view bytes);

/// Closes all files from 3 on except `kept`.
void close_others(std::vector<int> kept);

/// What the file `path` below `folder` holds; empty when it can't be read.
std::string read_file(int folder, const std::string& path);

}  // namespace cohort
