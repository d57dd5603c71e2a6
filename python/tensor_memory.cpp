#include "python/tensor_memory.h"

#ifdef COHORT_TCMALLOC
#include <c10/core/CPUAllocator.h>
#include <c10/core/alignment.h>
#include <dlfcn.h>
#include <gperftools/tcmalloc.h>

#include <cstdlib>
#include <new>
#include <string_view>

#include "cohort/core/error.h"
#endif

namespace cohort::python {

#ifdef COHORT_TCMALLOC
namespace {

/// Torch's profiler sees its blocks as it sees those of torch's own allocator.
class TensorAllocator final : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t size) override {
    void* data = nullptr;
    if (size > 0) {
      data = tc_memalign(c10::gAlignment, size);
      if (data == nullptr) c10::profiledCPUMemoryReporter().OutOfMemory(size);
      TORCH_CHECK(data != nullptr, "can't allocate memory: a tensor asks for ", size, " bytes");
      c10::profiledCPUMemoryReporter().New(data, size);
    }
    return {data, data, &release, at::Device(at::kCPU)};
  }

  at::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, size_t count) const override {
    default_copy_data(to, from, count);
  }

 private:
  static void release(void* data) {
    if (data == nullptr) return;
    c10::profiledCPUMemoryReporter().Delete(data);
    tc_free(data);
  }
};

bool is_of_tcmalloc(void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr &&
         std::string_view(info.dli_fname).find("tcmalloc") != std::string_view::npos;
}

}  // namespace

void hold_tensors_by_tcmalloc() {
  static TensorAllocator allocator;
  // A block of one `operator new` given to another's `delete` would end the process. Both are tcmalloc's
  // under LD_PRELOAD.
  void* (*make)(std::size_t) = &::operator new;
  COHORT_CHECK(
      is_of_tcmalloc(reinterpret_cast<void*>(make)) == is_of_tcmalloc(reinterpret_cast<void*>(&std::malloc)),
      "tcmalloc has taken the place of operator new");
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
}
#else
void hold_tensors_by_tcmalloc() {}
#endif

}  // namespace cohort::python
