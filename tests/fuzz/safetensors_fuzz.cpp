// One safetensors file: any bytes are either tensors, all of which can be read, or a FormatError.
#include <ATen/ATen.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "cohort/core/error.h"
#include "cohort/tensor/safetensors.h"

namespace {

/// The reader maps files by name: this one lies in memory.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : file_(::memfd_create("safetensors", MFD_CLOEXEC)) {
    if (file_ < 0 || ::write(file_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { ::close(file_); }
  std::string path() const { return cohort::str("/proc/self/fd/", file_); }

 private:
  int file_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile memory(data, size);
  try {
    const cohort::SafetensorsFile file(memory.path());
    for (const auto& [name, info] : file.tensors()) {
      const at::Tensor tensor = file.tensor(name);
      // Reads every byte.
      if (tensor.nbytes() > size) std::abort();
      if (tensor.numel() > 0) tensor.clone();
    }
  } catch (const cohort::UserError&) {
  }
  return 0;
}
