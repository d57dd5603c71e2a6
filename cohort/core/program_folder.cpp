#include "cohort/core/program_folder.h"

#include <cstdlib>

namespace cohort {

std::filesystem::path program_folder() {
  const char* given = std::getenv(kProgramFolder);
  if (given != nullptr && *given != '\0') return given;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace cohort
