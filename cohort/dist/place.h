// Where a process stands among the processes of its job: what torchrun, srun or mpirun says in the
// environment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace cohort::dist {

struct Place {
  int64_t rank = 0, size = 1;       ///< in the job
  int64_t local_rank = 0;           ///< on its machine
  std::string launcher{};           ///< "torchrun", "srun", "mpirun"; empty: started alone
  std::string address{};            ///< of the store through which the processes find one another
  int64_t port = 0;                 ///< of the store
  bool launcher_has_store = false;  ///< torchrun's agent holds it; otherwise rank 0 does
  std::string attempt{};            ///< differs after a restart of the job
};

/// A variable of the environment; null if it is not set.
using Variables = std::function<const char*(const char* name)>;

/// The place that the environment names; alone if it names none. MASTER_ADDR and MASTER_PORT count for all
/// launchers. Throws ConfigError naming a variable that is missing or no number.
Place place_from(const Variables& variables);

/// The same, of this process.
Place place_of_process();

/// Under torchrun: has the system send this process SIGTERM when its parent, the agent, ends, however it
/// does. Processes that have not met yet would wait for one another, and others write to a run that a new
/// agent goes on with.
void end_with_agent();

/// The first name of a list of nodes in Slurm's notation, such as "b12" of "b[12-14,20],c1".
std::string first_node(const std::string& nodes);

}  // namespace cohort::dist
