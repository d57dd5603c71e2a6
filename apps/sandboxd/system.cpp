#include "apps/sandboxd/system.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>

namespace cohort {

bool write_file(int folder, const std::string& path, const std::string& text) {
  const UniqueFile file(openat(folder, path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.is_open() && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void close_others(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (int file : kept) {
    const auto number = static_cast<unsigned>(file);
    if (number > first) check(syscall(SYS_close_range, first, number - 1, 0), "close_range");
    first = std::max(first, number + 1);
  }
  check(syscall(SYS_close_range, first, ~0U, 0), "close_range");
}

std::string read_file(int folder, const std::string& path) {
  const UniqueFile file(openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while (file.is_open() && (count = read(file.get(), buffer, sizeof(buffer))) > 0) {
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

}  // namespace cohort
