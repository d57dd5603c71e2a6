// How long OpenMP's threads spin at a barrier before they sleep. libgomp's default of 300,000 pauses is up to
// 15 ms, so that any other work on the machine makes training ten times slower; a tenth of it also suits a
// quiet one better where its two cores share execution units.
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>

namespace {

bool is_set(char** environment, const char* name) {
  const size_t length = std::strlen(name);
  for (; *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return true;
  }
  return false;
}

// libgomp reads its settings in a constructor: only .preinit_array runs earlier, where the C library still
// forgets what setenv did. So the program starts itself again; where it cannot, it goes on with the default.
void limit_spinning(int, char** arguments, char** environment) {
  constexpr size_t kMost = 4096;
  static char setting[] = "GOMP_SPINCOUNT=30000";
  static char program[4096];  // by its own name, which ps shows
  static char* changed[kMost + 2];
  if (getauxval(AT_BASE) == 0) return;  // started by the loader's own name: /proc/self/exe is the loader
  if (is_set(environment, "OMP_WAIT_POLICY") || is_set(environment, "GOMP_SPINCOUNT")) return;
  size_t count = 0;
  while (environment[count] != nullptr && count < kMost) {
    changed[count] = environment[count];
    ++count;
  }
  if (environment[count] != nullptr || readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0) return;
  changed[count] = setting;
  execve(program, arguments, changed);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const kFirst)(int, char**, char**) = limit_spinning;

}  // namespace
