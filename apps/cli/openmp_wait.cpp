// How long OpenMP's threads spin at a barrier before they sleep. libgomp's default of 300,000 pauses is up to
// 15 ms, so that any other work on the machine makes training ten times slower; a tenth of it costs nothing
// on a quiet one.
#include <cstdlib>

namespace {

// libgomp reads its settings in a constructor: only .preinit_array runs earlier.
void limit_spinning(int, char**, char**) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "30000", 0);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const first)(int, char**, char**) = limit_spinning;

}  // namespace
