// The escapes that the self-test attempts. Each runs in the place of a tested program and returns 0 when it
// was held, 1 when it got through.
#pragma once

#include <vector>

#include "apps/sandboxd/job.h"

namespace cohort {

/// What waits outside to be reached.
struct Bait {
  pid_t launcher = 0;
  uint16_t port = 0;       ///< of a listener on the machine's loopback
  int message_queue = -1;  ///< of the launcher's, that everybody may look at
  int landlock_version = 0;
  std::vector<std::string> runtime;  ///< the paths that jobs should see
};

struct EscapeAttempt {
  Layer layer;   ///< what must hold it
  LayerSet off;  ///< layers that would hold it, too
  Escape escape;
  SandboxLimits limits;
};

/// One attempt for each layer, each made of several tries.
std::vector<EscapeAttempt> escape_attempts(const Bait& bait);

}  // namespace cohort
