// Starting programs from a process of many threads, and the descriptors that lead to them.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace cohort {

/// Owns a file descriptor.
class OpenFile {
 public:
  explicit OpenFile(int number = -1) : number_(number) {}
  ~OpenFile() { close(); }
  OpenFile(OpenFile&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  void close();

 private:
  int number_;
};

/// Neither end is inherited by programs. Throws std::system_error.
struct Pipe {
  Pipe();

  OpenFile read_end, write_end;
};

/// Starts `words[0]`, looked for in PATH, in the process group `group`, or in one of its own for 0. Its
/// standard error, environment and folder are ours, its signals as they are by default; nothing else is
/// inherited. Throws std::system_error.
pid_t spawn(const std::vector<std::string>& words, const OpenFile& standard_input,
            const OpenFile& standard_output, pid_t group);

}  // namespace cohort
