#include "cohort/train/run/microbatches.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "cohort/ops/gradient.h"
#include "cohort/tensor/one_thread.h"

namespace cohort {
namespace {

/// Gradients of micro-batches that end in any order, added to the leaves in theirs.
class OrderedGradients {
 public:
  explicit OrderedGradients(int64_t count) : sinks_(count), is_done_(count) {}

  GradientSink& sink(int64_t i) { return sinks_[i]; }

  void finish(int64_t i) {
    const std::lock_guard lock(mutex_);
    is_done_[i] = true;
    for (; next_ < sinks_.size() && is_done_[next_]; ++next_) sinks_[next_].add_to_leaves();
  }

 private:
  std::mutex mutex_;
  std::vector<GradientSink> sinks_;
  std::vector<bool> is_done_;
  size_t next_ = 0;
};

}  // namespace

int64_t microbatches_at_once(const Decoder& decoder, int64_t count) {
  return decoder.is_small() ? std::clamp<int64_t>(count, 1, at::get_num_threads()) : 1;
}

void for_each_microbatch(const Decoder& decoder, int64_t count, const std::function<void(int64_t)>& f) {
  if (!decoder.is_small()) {
    for (int64_t i = 0; i < count; ++i) f(i);
    return;
  }
  OrderedGradients gradients(count);
  std::atomic<int64_t> next = 0;
  const bool has_graph = at::GradMode::is_enabled();
  const auto take_some = [&](int64_t, int64_t) {
    const OneThread one_thread;
    const at::AutoGradMode mode(has_graph);  // holds for its own thread only
    for (int64_t i = next++; i < count; i = next++) {
      if (!has_graph) {  // also within a micro-batch that has a sink open on this thread
        f(i);
        continue;
      }
      {
        const GradientSink::Scope scope(gradients.sink(i));
        f(i);
      }
      gradients.finish(i);
    }
  };
  at::parallel_for(0, microbatches_at_once(decoder, count), 1, take_some);
}

}  // namespace cohort
