// mmap with an owner.
#include "cohort/tensor/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cohort/core/error.h"

namespace cohort {

MappedFile::MappedFile(const std::filesystem::path& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // no FIFO is waited for
  if (file < 0) throw FormatError(str(path.string(), ": cannot be opened: ", std::strerror(errno)));
  struct stat info{};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file);
    throw FormatError(str(path.string(), ": is not a regular file"));
  }
  num_bytes_ = static_cast<uint64_t>(info.st_size);
  if (num_bytes_ > 0) {
    // MAP_NORESERVE: a private writable mapping would otherwise count in full against the machine's memory.
    void* start = ::mmap(nullptr, num_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
    if (start == MAP_FAILED) {
      int reason = errno;
      ::close(file);
      throw FormatError(str(path.string(), ": cannot be mapped: ", std::strerror(reason)));
    }
    data_ = static_cast<std::byte*>(start);
  }
  ::close(file);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, num_bytes_);
}

}  // namespace cohort
