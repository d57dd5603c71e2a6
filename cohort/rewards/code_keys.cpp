#include "cohort/rewards/code_keys.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "libs/common/nearest.h"

namespace cohort {
namespace {

constexpr double kMaxTestTimeoutS = 600.0;
constexpr int64_t kMinMemoryMb = 16, kMaxMemoryMb = 65536;

template <typename Number>
void check_range(const std::string& where, const char* key, const std::optional<Number>& value, Number low,
                 Number high) {
  if (value && !(*value >= low && *value <= high)) {
    throw ConfigError(
        str(where, key, " = ", *value, " is out of range; it must be from ", low, " to ", high));
  }
}

void describe_programs(FieldVisitor& f, CodeKeys& keys) {
  f("command", keys.language.command, "Command that runs {source}, or {program} where it is compiled.");
  f("timeout_s", keys.timeout_s, "Wall time of one test in seconds, 2 when unset.", above(0.0),
    OnResume::kTaken);
  f("language", keys.language.language,
    "Language of the programs: python (when empty), bash, c, cpp, or any other with its `command`.");
  f("compile", keys.language.compile, "The command that makes {program} of {source}.");
  f("memory_mb", keys.memory_mb, "Memory of one test in MiB, 256 when unset.", at_least(16));
}

void describe_tests(FieldVisitor& f, CodeKeys& keys) {
  f("all_tests", keys.all_tests, "1 when all tests pass, else 0; not the share that passes.");
  f("workers", keys.workers, "Tests at a time, one for each core when unset.", between(1, 1024),
    OnResume::kTaken);
  f("runtime", keys.language.runtime,
    "More files and folders that programs may read and execute; Python looks there for modules.",
    OnResume::kTaken);
  f("waive_layers", keys.waive_layers,
    "Layers of the sandbox that may be missing (docs/sandbox.md); by default all must hold.",
    OnResume::kTaken);
  f("prelude", keys.prelude,
    "For Python: code that runs before every program, such as imports. When empty, programs whose tests call "
    "a method of class Solution get what judges import; \"none\" gives them nothing.");
  f("tolerance", keys.tolerance,
    "How far a float may be off that a program prints or returns, 1e-6 and 1e-9 when unset; 0 compares "
    "exactly. A test's own `tolerance` counts first.",
    at_least(0.0));
}

}  // namespace

void CodeKeys::describe(FieldVisitor& f) {
  describe_programs(f, *this);
  describe_tests(f, *this);
}

void CodeKeys::check(const std::string& where) const {
  check_range(where, "timeout_s", timeout_s, 0.001, kMaxTestTimeoutS);
  check_range(where, "memory_mb", memory_mb, kMinMemoryMb, kMaxMemoryMb);
  check_range(where, "workers", workers, int64_t{1}, int64_t{1024});
  check_sandbox_layers(where, waive_layers);
  if (!prelude.empty() && !language.language.empty() && language.language != "python") {
    throw ConfigError(
        str(where, "`prelude` is Python, and `language` is ", language.language, "; remove it"));
  }
}

void check_sandbox_layers(const std::string& where, const std::vector<std::string>& names) {
  const std::vector<std::string> known{
#define LAYER(Name, name, meaning, mend) #name,
#include "cohort/rewards/sandbox_layers.def"
#undef LAYER
  };
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw ConfigError(str(where, "`waive_layers` names \"", name,
                          "\", which is no layer of the sandbox; did you mean \"", nearest_name(name, known),
                          "\"?"));
  }
}

}  // namespace cohort
