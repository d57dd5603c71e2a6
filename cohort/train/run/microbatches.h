// The micro-batches of one update, one after another or, of a small model, side by side.
#pragma once

#include <cstdint>
#include <functional>

#include "cohort/models/decoder.h"

namespace cohort {

/// Calls f(i) for each i below `count`, which may forward and run a backward. Of a small model
/// (Decoder::is_small) the threads each take whole micro-batches, one at the least; `f` must then write to
/// its own place only. Gradients are added to the leaves in the order of i: the same bits for any number of
/// threads.
void for_each_microbatch(const Decoder& decoder, int64_t count, const std::function<void(int64_t)>& f);

/// Micro-batches that for_each_microbatch has in memory at once.
int64_t microbatches_at_once(const Decoder& decoder, int64_t count);

}  // namespace cohort
