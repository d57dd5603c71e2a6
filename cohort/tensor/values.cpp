#include "cohort/tensor/values.h"

#include "cohort/core/error.h"

namespace cohort {

bool has_values(const at::Tensor& tensor) { return tensor.storage().data() != nullptr; }

void free_values(const at::Tensor& tensor) {
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(at::DataPtr(nullptr, tensor.device()));
  storage->set_nbytes(0);
}

void allocate_values(const at::Tensor& whole) {
  COHORT_CHECK(whole.is_cpu() && whole.is_contiguous() && whole.storage_offset() == 0);
  const size_t num_bytes = whole.nbytes();
  c10::StorageImpl* storage = whole.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(c10::GetAllocator(c10::DeviceType::CPU)->allocate(num_bytes));
  storage->set_nbytes(num_bytes);
}

}  // namespace cohort
