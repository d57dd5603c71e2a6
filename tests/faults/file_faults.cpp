// A library for LD_PRELOAD that lets one file operation of a program fail, and that takes away what a power
// cut would: whatever has not been synced.
//
// Operations on paths below FILE_FAULTS_UNDER are counted: writes, syncs, renames, cuts, new directories and
// deletions. FILE_FAULTS_LOG names a file that gets a line for each of them: number, operation, path.
// FILE_FAULTS_AT is the number of the one that fails, FILE_FAULTS_HOW how:
//
//   enospc, eio   it returns the error, a write after half of its bytes
//   kill          the process ends before it; files keep what was written
//   cut           the process ends before it. Files lose what was written since their last fsync, and
//   directories
//                 what was created, renamed and deleted since theirs
//   torn          the same, but files keep half of what was written last
//
// Deleted and replaced files are kept in FILE_FAULTS_TRASH, on the same file system, to bring them back.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The paths are read as they are: the program is given absolute ones.
std::string path_of(int file) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof(path));
  return length > 0 ? std::string(path, length) : "";
}

std::string path_of(int directory, const char* path) {
  if (path[0] == '/') return path;
  if (directory != AT_FDCWD) return path_of(directory) + "/" + path;
  char here[PATH_MAX];
  return std::string(getcwd(here, sizeof(here))) + "/" + path;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

/// A change of a directory that is not on the disk yet, and how it is undone.
struct Change {
  enum class Kind { kCreated, kRenamed, kDeleted } kind;
  std::string path, from;  ///< `from`: of a rename
  std::string kept;        ///< what was at `path` before, in the trash; empty: nothing
};

class Faults {
 public:
  static Faults& one() {
    static Faults faults;
    return faults;
  }

  bool concerns(const std::string& path) const {
    return !under_.empty() && (path == under_ || path.starts_with(under_ + "/"));
  }

  /// Counts an operation. True if it is to fail with errno set; a process that is to end ends here.
  bool fails(const char* operation, const std::string& path) {
    if (!concerns(path)) return false;
    const std::lock_guard lock(mutex_);
    ++count_;
    if (!log_.empty()) {
      if (std::FILE* file = std::fopen(log_.c_str(), "a")) {
        std::fprintf(file, "%ld %s %s\n", count_, operation, path.c_str());
        std::fclose(file);
      }
    }
    if (count_ != at_) return false;
    if (how_ == "cut" || how_ == "torn") take_away();
    if (how_ != "enospc" && how_ != "eio") _exit(137);
    errno = how_ == "eio" ? EIO : ENOSPC;
    return true;
  }

  /// Before bytes are written to a file.
  void will_write(const std::string& path) {
    if (!concerns(path)) return;
    struct stat found{};
    const std::lock_guard lock(mutex_);
    if (stat(path.c_str(), &found) == 0) synced_sizes_.emplace(path, found.st_size);
  }

  void is_created(const std::string& path) {
    if (!concerns(path)) return;
    const std::lock_guard lock(mutex_);
    changes_.push_back({Change::Kind::kCreated, path, "", ""});
    synced_sizes_.emplace(path, 0);
  }

  void is_synced(const std::string& path) {
    const std::lock_guard lock(mutex_);
    synced_sizes_.erase(path);
    std::erase_if(changes_, [&](const Change& change) { return parent_of(change.path) == path; });
  }

  /// Before something at `path` goes: a link to it in the trash, or an empty text where there is nothing.
  std::string keep(const std::string& path) {
    struct stat found{};
    if (!concerns(path) || lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return "";
    const std::lock_guard lock(mutex_);
    std::string place = trash_ + "/" + std::to_string(getpid()) + "-" + std::to_string(++num_kept_);
    return link(path.c_str(), place.c_str()) == 0 ? place : "";
  }

  void is_renamed(const std::string& from, const std::string& to, std::string kept) {
    if (!concerns(to)) return;
    const std::lock_guard lock(mutex_);
    changes_.push_back({Change::Kind::kRenamed, to, from, std::move(kept)});
    synced_sizes_.erase(to);  // of the file that was replaced
    // What is below has another name from now on.
    std::map<std::string, off_t> sizes;
    for (auto& [path, size] : synced_sizes_) sizes.emplace(moved(path, from, to), size);
    synced_sizes_ = std::move(sizes);
    for (Change& change : changes_) {
      if (&change == &changes_.back()) continue;
      change.path = moved(change.path, from, to);
    }
  }

  void is_deleted(const std::string& path, std::string kept) {
    if (!concerns(path) || kept.empty()) return;
    const std::lock_guard lock(mutex_);
    changes_.push_back({Change::Kind::kDeleted, path, "", std::move(kept)});
    synced_sizes_.erase(path);
  }

 private:
  Faults() {
    under_ = setting("FILE_FAULTS_UNDER");
    log_ = setting("FILE_FAULTS_LOG");
    how_ = setting("FILE_FAULTS_HOW");
    trash_ = setting("FILE_FAULTS_TRASH");
    at_ = std::atol(setting("FILE_FAULTS_AT").c_str());
  }

  static std::string moved(const std::string& path, const std::string& from, const std::string& to) {
    if (path == from) return to;
    return path.starts_with(from + "/") ? to + path.substr(from.size()) : path;
  }

  void take_away() {
    for (const auto& [path, size] : synced_sizes_) {
      struct stat found{};
      if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size <= size) continue;
      const off_t kept = how_ == "torn" ? size + (found.st_size - size) / 2 : size;
      if (::truncate(path.c_str(), kept) != 0) std::perror(path.c_str());
    }
    const auto rename_back = real<int(const char*, const char*)>("rename");
    const auto delete_file = real<int(const char*)>("unlink");
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      switch (change->kind) {
        case Change::Kind::kCreated:
          if (delete_file(change->path.c_str()) != 0 && errno == EISDIR) {
            unsetenv("LD_PRELOAD");  // the shell's own calls are none of the program's
            const std::string command = "rm -rf '" + change->path + "'";
            if (std::system(command.c_str()) != 0) std::perror(change->path.c_str());
          }
          break;
        case Change::Kind::kRenamed:
          rename_back(change->path.c_str(), change->from.c_str());
          [[fallthrough]];
        case Change::Kind::kDeleted:
          if (!change->kept.empty()) rename_back(change->kept.c_str(), change->path.c_str());
      }
    }
  }

  std::mutex mutex_;
  std::string under_, log_, how_, trash_;
  long at_ = 0, count_ = 0, num_kept_ = 0;
  std::map<std::string, off_t> synced_sizes_;  // of files with bytes that are not synced
  std::vector<Change> changes_;                // of directories, not synced
};

/// A file that a call of open may create. One that only reads may be the allocator's first: nothing is
/// allocated.
template <typename Open>
int open_at(int directory, const char* path, int flags, Open open) {
  if ((flags & O_CREAT) == 0) return open();
  const std::string name = path_of(directory, path);
  struct stat found{};
  const bool is_new =
      (flags & O_CREAT) != 0 && Faults::one().concerns(name) && lstat(name.c_str(), &found) != 0;
  const int file = open();
  if (file >= 0 && is_new) Faults::one().is_created(name);
  return file;
}

/// The argument that open has where it may create a file.
mode_t mode_of(int flags, std::va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int open_file(const char* function, const char* path, int flags, mode_t mode) {
  return open_at(AT_FDCWD, path, flags,
                 [&] { return real<int(const char*, int, ...)>(function)(path, flags, mode); });
}

std::FILE* open_stream(const char* function, const char* path, const char* mode) {
  std::FILE* file = nullptr;
  const int flags = std::strchr(mode, 'w') != nullptr || std::strchr(mode, 'a') != nullptr ? O_CREAT : 0;
  open_at(AT_FDCWD, path, flags, [&] {
    file = real<std::FILE*(const char*, const char*)>(function)(path, mode);
    return file != nullptr ? 0 : -1;
  });
  return file;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_file("open64", path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) { return open_stream("fopen", path, mode); }

std::FILE* fopen64(const char* path, const char* mode) { return open_stream("fopen64", path, mode); }

ssize_t write(int file, const void* bytes, size_t count) {
  const auto call = real<ssize_t(int, const void*, size_t)>("write");
  const std::string path = path_of(file);
  Faults::one().will_write(path);
  if (Faults::one().fails("write", path)) {
    const int error = errno;
    if (call(file, bytes, count / 2) < 0) return -1;
    errno = error;
    return -1;
  }
  return call(file, bytes, count);
}

ssize_t writev(int file, const iovec* parts, int count) {
  const std::string path = path_of(file);
  Faults::one().will_write(path);
  if (Faults::one().fails("write", path)) return -1;
  return real<ssize_t(int, const iovec*, int)>("writev")(file, parts, count);
}

ssize_t pwrite(int file, const void* bytes, size_t count, off_t place) {
  const auto call = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const std::string path = path_of(file);
  Faults::one().will_write(path);
  if (Faults::one().fails("write", path)) {
    const int error = errno;
    if (call(file, bytes, count / 2, place) < 0) return -1;
    errno = error;
    return -1;
  }
  return call(file, bytes, count, place);
}

ssize_t pwrite64(int file, const void* bytes, size_t count, off_t place) {
  return pwrite(file, bytes, count, place);
}

ssize_t sendfile(int to, int from, off_t* place, size_t count) {
  const std::string path = path_of(to);
  Faults::one().will_write(path);
  if (Faults::one().fails("write", path)) return -1;
  return real<ssize_t(int, int, off_t*, size_t)>("sendfile")(to, from, place, count);
}

int fsync(int file) {
  const std::string path = path_of(file);
  if (Faults::one().fails("sync", path)) return -1;
  const int result = real<int(int)>("fsync")(file);
  if (result == 0) Faults::one().is_synced(path);
  return result;
}

int fdatasync(int file) {
  const std::string path = path_of(file);
  if (Faults::one().fails("sync", path)) return -1;
  const int result = real<int(int)>("fdatasync")(file);
  if (result == 0) Faults::one().is_synced(path);
  return result;
}

int ftruncate(int file, off_t size) {
  if (Faults::one().fails("cut", path_of(file))) return -1;
  return real<int(int, off_t)>("ftruncate")(file, size);
}

int rename(const char* from, const char* to) {
  const std::string source = path_of(AT_FDCWD, from), target = path_of(AT_FDCWD, to);
  if (Faults::one().fails("rename", target)) return -1;
  std::string kept = Faults::one().keep(target);
  const int result = real<int(const char*, const char*)>("rename")(from, to);
  if (result == 0) Faults::one().is_renamed(source, target, std::move(kept));
  return result;
}

int mkdir(const char* path, mode_t mode) {
  const std::string name = path_of(AT_FDCWD, path);
  if (Faults::one().fails("mkdir", name)) return -1;
  const int result = real<int(const char*, mode_t)>("mkdir")(path, mode);
  if (result == 0) Faults::one().is_created(name);
  return result;
}

int unlink(const char* path) {
  const std::string name = path_of(AT_FDCWD, path);
  if (Faults::one().fails("delete", name)) return -1;
  std::string kept = Faults::one().keep(name);
  const int result = real<int(const char*)>("unlink")(path);
  if (result == 0) Faults::one().is_deleted(name, std::move(kept));
  return result;
}

int remove(const char* path) {
  struct stat found{};
  if (lstat(path, &found) == 0 && S_ISDIR(found.st_mode)) return rmdir(path);
  return unlink(path);
}

int unlinkat(int directory, const char* path, int flags) {
  const std::string name = path_of(directory, path);
  if (Faults::one().fails("delete", name)) return -1;
  std::string kept = (flags & AT_REMOVEDIR) != 0 ? "" : Faults::one().keep(name);
  const int result = real<int(int, const char*, int)>("unlinkat")(directory, path, flags);
  if (result == 0) Faults::one().is_deleted(name, std::move(kept));
  return result;
}

}  // extern "C"
