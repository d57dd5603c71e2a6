#include "cohort/core/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"

namespace cohort {
namespace {

[[noreturn]] void fail(const char* action, const std::filesystem::path& path) {
  throw FormatError(str(path.string(), ": can't ", action, ": ", std::strerror(errno)));
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail("open", path_);
  sync_name(path_);  // also where a process that made it was killed before
  size_ = ::lseek(file_, 0, SEEK_END);
}

AppendFile::~AppendFile() {
  write_buffer();  // a destructor can't report a failure; whoever needs the bytes calls flush
  ::close(file_);
}

bool AppendFile::write_buffer() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t written = ::pwrite(file_, buffer_.data() + done, buffer_.size() - done, size_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      buffer_.erase(0, done);
      return false;
    }
    done += static_cast<size_t>(written);
    size_ += written;
  }
  buffer_.clear();
  return true;
}

void AppendFile::flush() {
  if (!write_buffer()) fail("write", path_);
}

void AppendFile::sync() {
  flush();
  if (::fsync(file_) != 0) fail("fsync", path_);
}

void AppendFile::truncate_to(int64_t bytes) {
  flush();
  if (bytes < 0 || bytes > size_) {
    throw FormatError(str(path_.string(), ": has ", size_, " bytes, but its checkpoint knows ", bytes,
                          "; restore the file, or delete it to go on without what it held"));
  }
  if (::ftruncate(file_, bytes) != 0) fail("truncate", path_);
  size_ = bytes;
}

}  // namespace cohort
