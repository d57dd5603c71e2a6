#include "cohort/train/run/same_run.h"

#include <dlfcn.h>

#include <sstream>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/core/input_file.h"
#include "cohort/ops/cpu_arch.h"
#include "cohort/train/run/resume.h"
#include "libs/common/excerpt.h"
#include "libs/common/hash.h"

namespace cohort {
namespace {

/// "LINE there and LINE in rank 0": the first line that differs.
std::string difference(const std::string& here, const std::string& there) {
  std::istringstream own(here), other(there);
  std::string own_line, other_line;
  while (true) {
    const bool has_own = static_cast<bool>(std::getline(own, own_line));
    const bool has_other = static_cast<bool>(std::getline(other, other_line));
    if (!has_own) own_line.clear();
    if (!has_other) other_line.clear();
    if (own_line != other_line || (!has_own && !has_other))
      return str(excerpt(other_line), " there and ", excerpt(own_line), " in rank 0");
  }
}

/// The file that holds this code: the extension of Python, or the program.
std::string code_file() {
  Dl_info info{};
  const bool is_known = dladdr(reinterpret_cast<const void*>(&facts_of), &info) != 0;
  const std::string file = is_known ? info.dli_fname : "";
  return file.ends_with(".so") ? file : "/proc/self/exe";
}

}  // namespace

RunFacts facts_of(const Section& settings) {
  return {{"model", file_fingerprints(settings).dump(2)},
          {"program", str(fnv1a(read_whole_file(code_file())))},
          {"instruction set", name_of(cpu_arch())}};
}

void check_same_run(dist::Group& processes, const RunFacts& facts) {
  for (const auto& [name, own] : facts) {
    const std::vector<std::string> all = processes.all_gather(own, "the comparison of the runs");
    for (size_t rank = 1; rank < all.size(); ++rank) {
      if (all[rank] == all[0]) continue;
      throw ConfigError(str("rank ", rank, " was started with another ", name, " than rank 0: ",
                            difference(all[0], all[rank]), "; start all processes with the same one"));
    }
  }
}

}  // namespace cohort
