#include "cohort/core/jsonl_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cohort/core/error.h"

namespace cohort {
namespace {

[[noreturn]] void fail(const char* action, const std::filesystem::path& path) {
  throw FormatError(str(path.string(), ": can't ", action, ": ", std::strerror(errno)));
}

}  // namespace

JsonlWriter::JsonlWriter(std::filesystem::path path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail("open", path_);
  size_ = ::lseek(file_, 0, SEEK_END);
}

JsonlWriter::~JsonlWriter() {
  try {
    flush();
  } catch (const UserError&) {
    // A destructor can't report; whoever needs the lines calls flush.
  }
  ::close(file_);
}

void JsonlWriter::write(const Json& line) { buffer_ += to_json_text(line) + "\n"; }

void JsonlWriter::flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t written = ::pwrite(file_, buffer_.data() + done, buffer_.size() - done, size_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      buffer_.erase(0, done);
      fail("write", path_);
    }
    done += static_cast<size_t>(written);
    size_ += written;
  }
  buffer_.clear();
}

void JsonlWriter::sync() {
  flush();
  if (::fsync(file_) != 0) fail("fsync", path_);
}

void JsonlWriter::truncate_to(int64_t bytes) {
  flush();
  if (bytes < 0 || bytes > size_) {
    throw FormatError(str(path_.string(), ": has ", size_, " bytes, its checkpoint knows ", bytes,
                          "; the file was changed since"));
  }
  if (::ftruncate(file_, bytes) != 0) fail("truncate", path_);
  size_ = bytes;
}

}  // namespace cohort
