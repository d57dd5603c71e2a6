#include "cohort/core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cohort/core/error.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* action, const fs::path& path) {
  throw FormatError(str(path.string(), ": can't ", action, ": ", std::strerror(errno)));
}

/// Closes on every way out.
class FileDescriptor {
 public:
  FileDescriptor(const fs::path& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (value_ < 0) fail("open", path);
  }
  ~FileDescriptor() { ::close(value_); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

void sync_path(const fs::path& path, int flags) {
  const FileDescriptor file(path, flags);
  if (::fsync(file.value()) != 0) fail("fsync", path);
}

fs::path parent_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

void rename_path(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(str("rename to ", to.string()).c_str(), from);
}

void write_all(int file, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path);
    content.remove_prefix(static_cast<size_t>(written));
  }
}

fs::path without_trailing_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw FormatError(str(path.string(), ": can't delete: ", error.message()));
}

}  // namespace

void write_file_atomically(const fs::path& path, std::string_view content) {
  const fs::path temporary = path.string() + ".tmp";
  {
    const FileDescriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(file.value(), content, temporary);
    if (::fsync(file.value()) != 0) fail("fsync", temporary);
  }
  rename_path(temporary, path);
  sync_path(parent_of(path), O_RDONLY | O_DIRECTORY);
}

void make_directories(const fs::path& path) {
  const fs::path directory = without_trailing_slash(path);
  if (directory.empty() || fs::is_directory(directory)) return;
  make_directories(directory.parent_path());
  if (::mkdir(directory.c_str(), 0777) != 0 && !(errno == EEXIST && fs::is_directory(directory)))
    fail("make the directory", directory);
  sync_name(directory);
}

void sync_name(const fs::path& path) {
  sync_path(parent_of(without_trailing_slash(path)), O_RDONLY | O_DIRECTORY);
}

void publish_directory(const fs::path& temporary, const fs::path& final) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(temporary, error), end; entry != end; entry.increment(error)) {
    if (error) break;
    sync_path(entry->path(), entry->is_directory() ? O_RDONLY | O_DIRECTORY : O_RDONLY);
  }
  if (error) throw FormatError(str(temporary.string(), ": can't list: ", error.message()));
  sync_path(temporary, O_RDONLY | O_DIRECTORY);
  rename_path(without_trailing_slash(temporary), without_trailing_slash(final));
  sync_path(parent_of(without_trailing_slash(final)), O_RDONLY | O_DIRECTORY);
}

void retire_directory(const fs::path& directory) {
  const fs::path path = without_trailing_slash(directory);
  const fs::path trash = parent_of(path) / (".trash-" + path.filename().string());
  remove_tree(trash);
  if (!fs::exists(path)) return;
  rename_path(path, trash);
  sync_path(parent_of(path), O_RDONLY | O_DIRECTORY);
  remove_tree(trash);
}

}  // namespace cohort
