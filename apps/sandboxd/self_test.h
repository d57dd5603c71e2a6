// Tries at every start whether the sandbox holds, by escapes that each of its layers alone must stop.
#pragma once

#include <memory>

#include "apps/sandboxd/escapes.h"
#include "apps/sandboxd/launcher.h"

namespace cohort {

/// What the escapes try to reach; made before the launcher leaves the machine's namespaces.
class BaitBox {
 public:
  explicit BaitBox(const std::vector<std::string>& runtime);

  const Bait& bait() const { return bait_; }

 private:
  Bait bait_;
  UniqueFile listener_;
};

/// The layers that don't hold. Throws std::runtime_error when not even a harmless job runs.
LayerSet run_self_test(Launcher& launcher, const BaitBox& box);

}  // namespace cohort
