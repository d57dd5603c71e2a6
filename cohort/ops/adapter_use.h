// How one forward pass uses the adapters of its model (lora.h).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cohort {

/// Dropout on the inputs of the adapters in one pass. The draw for an element depends only on the seed, the
/// step, the row's address, the adapter and the column.
struct AdapterDropout {
  double probability = 0.0;  ///< that an element is left out
  uint64_t seed = 0;
  uint64_t step = 0;
  std::vector<uint64_t> rows{};  ///< the addresses of the pass's rows: which sequence and position they are
};

/// A value: the graph of a pass keeps a copy, so that passes with different uses may run at the same time.
struct AdapterUse {
  bool enabled = true;                              ///< false: the base model alone
  std::shared_ptr<const AdapterDropout> dropout{};  ///< null: nothing is left out
};

}  // namespace cohort
