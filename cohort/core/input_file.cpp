#include "cohort/core/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/file_error.h"
#include "cohort/core/foreign_format.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

int64_t modified_ns(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse(const fs::path& path, const struct stat& info) {
  throw FormatError(str(path.string(), ": is ", kind_of(info.st_mode), "; name a regular file"));
}

[[noreturn]] void fail_to_open(const fs::path& path, int error) {
  const char* advice = error == ENOENT ? "; does the file exist?" : "";
  throw FileError(error, str(path.string(), ": can't be read: ", std::strerror(error), advice));
}

fs::path temporary_folder() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : folder;
}

}  // namespace

InputFile::InputFile(const fs::path& path) : path_(path) {
  struct stat info{};
  // Told before it is opened: to open a device may have an effect.
  if (::stat(path.c_str(), &info) != 0) fail_to_open(path, errno);
  if (!S_ISREG(info.st_mode)) refuse(path, info);
  // O_NONBLOCK: what became a FIFO meanwhile is not waited for.
  file_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file_ < 0) fail_to_open(path, errno);
  if (::fstat(file_, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file_);
    refuse(path, info);
  }
  num_bytes_ = static_cast<uint64_t>(info.st_size);
  modified_ns_ = modified_ns(info);
}

InputFile InputFile::temporary(const fs::path& path) {
  std::string name = (temporary_folder() / "cohort-XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) {
    throw FormatError(str(path.string(), ": no temporary file can be made in ", temporary_folder().string(),
                          ": ", std::strerror(errno), "; set TMPDIR to a folder with room"));
  }
  ::unlink(name.c_str());
  return {path, file};
}

InputFile::~InputFile() {
  if (file_ >= 0) ::close(file_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      num_bytes_(other.num_bytes_),
      modified_ns_(other.modified_ns_) {}

size_t InputFile::read_at(char* out, size_t size, uint64_t offset) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(file_, out + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw FormatError(str(path_.string(), ": can't be read: ", std::strerror(errno)));
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

bool InputFile::has_changed() const {
  struct stat info{};
  return ::fstat(file_, &info) != 0 || static_cast<uint64_t>(info.st_size) != num_bytes_ ||
         modified_ns(info) != modified_ns_;
}

void InputFile::append(const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t count = ::write(file_, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw FormatError(str(path_.string(), ": does not fit into ", temporary_folder().string(),
                            " when decompressed: ", std::strerror(errno),
                            "; set TMPDIR to a folder with more room"));
    }
    bytes += count;
    size -= static_cast<size_t>(count);
    num_bytes_ += static_cast<uint64_t>(count);
  }
  struct stat info{};
  if (::fstat(file_, &info) == 0) modified_ns_ = modified_ns(info);
}

std::string read_whole_file(const fs::path& path) {
  const InputFile file(path);
  std::string text(file.num_bytes(), '\0');
  text.resize(file.read_at(text.data(), text.size(), 0));
  refuse_lfs_pointer(text, path.string());
  return text;
}

}  // namespace cohort
