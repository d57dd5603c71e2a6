#include "apps/sandboxd/processor_time.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "apps/sandboxd/system.h"

namespace cohort {
namespace {

// A program may call itself anything, but the last ')' ends the name.
int64_t ticks_of(int proc, pid_t pid) {
  const std::string stat = read_file(proc, std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
  constexpr int kFieldsBefore = 11;  // from the state to utime
  std::string skipped;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
  int64_t sum = 0, ticks = 0;
  for (int i = 0; i < 4 && fields >> ticks; ++i) sum += ticks;  // utime, stime, cutime, cstime
  return sum;
}

// Each thread has children of its own.
void append_children(int proc, pid_t pid, std::vector<pid_t>& processes) {
  const std::string path = std::to_string(pid) + "/task";
  const int file = openat(proc, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* folder = file < 0 ? nullptr : fdopendir(file);
  if (folder == nullptr) {
    if (file >= 0) close(file);
    return;
  }
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    std::istringstream children(read_file(proc, path + "/" + entry->d_name + "/children"));
    for (pid_t child = 0; children >> child;) processes.push_back(child);
  }
  closedir(folder);
}

}  // namespace

int64_t processor_time_us(int proc, pid_t pid) {
  std::vector<pid_t> waiting{pid};
  int64_t ticks = 0;
  while (!waiting.empty()) {
    const pid_t process = waiting.back();
    waiting.pop_back();
    ticks += ticks_of(proc, process);
    append_children(proc, process, waiting);
  }
  return ticks * 1000000 / sysconf(_SC_CLK_TCK);
}

}  // namespace cohort
