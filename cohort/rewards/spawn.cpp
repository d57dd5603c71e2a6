#include "cohort/rewards/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "libs/common/str.h"

extern char** environ;

namespace cohort {

void OpenFile::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Pipe::Pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  read_end = OpenFile(ends[0]);
  write_end = OpenFile(ends[1]);
}

pid_t spawn(const std::vector<std::string>& words, const OpenFile& standard_input,
            const OpenFile& standard_output, pid_t group) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, standard_input.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, standard_output.number(), STDOUT_FILENO);
  // Not all that libraries open is closed by itself.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);

  // The program must not inherit a thread's blocked or a daemon's ignored signals: with SIGCHLD ignored it
  // would take each failure of a program of its own for a success.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, group);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), str("cannot start ", words[0]));
  return pid;
}

}  // namespace cohort
