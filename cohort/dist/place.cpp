#include "cohort/dist/place.h"

#include <sys/prctl.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "cohort/core/error.h"
#include "libs/common/hash.h"

namespace cohort::dist {
namespace {

/// Ports for jobs whose launcher names none.
constexpr int64_t kFirstPort = 20000, kNumPorts = 10000;

/// How a launcher names what a process must know of its place.
struct Launcher {
  const char* name;
  const char *size, *rank, *local_rank;
  const char* job;   // differs between the jobs of a machine; null: the launcher names a port
  const char* step;  // differs between the starts of a job
};

constexpr Launcher kLaunchers[] = {
    {"torchrun", "WORLD_SIZE", "RANK", "LOCAL_RANK", nullptr, nullptr},
    // Before srun, which may have started mpirun's own daemons.
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE",
     "PMIX_NAMESPACE"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_JOB_ID", "SLURM_STEP_ID"},
};

std::string text_of(const Variables& variables, const char* name) {
  const char* text = variables(name);
  return text == nullptr ? "" : text;
}

int64_t number_of(const Variables& variables, const char* name, const char* launcher) {
  const std::string text = text_of(variables, name);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size() && number >= 0) return number;
  throw ConfigError(str("the environment's ", name, " is ", text.empty() ? "missing" : "\"" + text + "\"",
                        ": ", launcher, " sets it to a number; start the program with ", launcher,
                        ", or unset its variables"));
}

/// Where rank 0 listens, if nobody says so.
std::string address_of(const Variables& variables, const Launcher& launcher, const Place& place) {
  const std::string given = text_of(variables, "MASTER_ADDR");
  if (!given.empty()) return given;
  if (std::string_view(launcher.name) == "srun") {
    const std::string nodes = text_of(variables, "SLURM_STEP_NODELIST");
    if (!nodes.empty()) return first_node(nodes);
  }
  if (std::string_view(launcher.name) == "mpirun" &&
      text_of(variables, "OMPI_COMM_WORLD_LOCAL_SIZE") == std::to_string(place.size)) {
    return "127.0.0.1";
  }
  throw ConfigError(
      str("the environment's MASTER_ADDR is missing: set it to the name of the machine of rank 0 (",
          launcher.name, " starts ", place.size, " processes on several machines)"));
}

}  // namespace

std::string first_node(const std::string& nodes) {
  const size_t end = nodes.find_first_of(",[");
  if (end == std::string::npos || nodes[end] == ',') return nodes.substr(0, end);
  const size_t stop = nodes.find_first_of("-,]", end + 1);
  const size_t close = nodes.find(']', end);
  if (stop == std::string::npos || close == std::string::npos) return nodes.substr(0, end);
  const size_t next = nodes.find(',', close);
  return nodes.substr(0, end) + nodes.substr(end + 1, stop - end - 1) +
         nodes.substr(close + 1, next == std::string::npos ? next : next - close - 1);
}

Place place_from(const Variables& variables) {
  for (const Launcher& launcher : kLaunchers) {
    if (variables(launcher.size) == nullptr) continue;
    Place place{.launcher = launcher.name};
    place.size = number_of(variables, launcher.size, launcher.name);
    place.rank = number_of(variables, launcher.rank, launcher.name);
    place.local_rank = number_of(variables, launcher.local_rank, launcher.name);
    if (place.size == 0 || place.rank >= place.size) {
      throw ConfigError(str("the environment's ", launcher.rank, " is ", place.rank, " and its ",
                            launcher.size, " ", place.size, ": ranks are below the number of processes"));
    }
    if (place.size == 1) return place;
    place.address = address_of(variables, launcher, place);
    place.attempt =
        text_of(variables, "TORCHELASTIC_RUN_ID") + "/" + text_of(variables, "TORCHELASTIC_RESTART_COUNT");
    if (launcher.job != nullptr) {
      place.attempt += text_of(variables, launcher.job) + "/" + text_of(variables, launcher.step);
      place.port = kFirstPort + static_cast<int64_t>(fnv1a(place.attempt) % kNumPorts);
    }
    if (launcher.job == nullptr || variables("MASTER_PORT") != nullptr)
      place.port = number_of(variables, "MASTER_PORT", launcher.name);
    place.launcher_has_store = text_of(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True";
    return place;
  }
  return {};
}

void end_with_agent() {
  if (std::getenv("TORCHELASTIC_RUN_ID") != nullptr) prctl(PR_SET_PDEATHSIG, SIGTERM);
}

Place place_of_process() {
  return place_from([](const char* name) { return std::getenv(name); });
}

}  // namespace cohort::dist
