#include "python/packing.h"

#include "cohort/core/error.h"

namespace cohort::python {

Packing::Packing(const at::Tensor& mask)
    : num_rows_(mask.size(0)), num_places_(mask.size(1)), mask_(mask.detach() != 0) {
  if (!mask.eq(mask_).all().item<bool>()) throw UserError("mask holds other values than 0 and 1");
  places_ = mask_.reshape({-1}).nonzero().reshape({-1});
  const at::Tensor lengths = mask_.sum(1).to(at::kCPU);
  lengths_.assign(lengths.const_data_ptr<int64_t>(), lengths.const_data_ptr<int64_t>() + num_rows_);
}

Packing Packing::of_lengths(const std::vector<int64_t>& lengths, int64_t num_places) {
  const at::Tensor ends = at::tensor(lengths, at::kLong).unsqueeze(1);
  return Packing(at::arange(num_places, at::kLong).unsqueeze(0).lt(ends));
}

std::vector<int64_t> Packing::run_lengths() const {
  const at::Tensor mask = mask_.to(at::kCPU).contiguous();
  const bool* flags = mask.const_data_ptr<bool>();
  std::vector<int64_t> runs;
  for (int64_t place = 0; place < mask.numel(); ++place) {
    if (!flags[place]) continue;
    const bool is_new = place % num_places_ == 0 || !flags[place - 1];
    if (is_new) runs.push_back(0);
    ++runs.back();
  }
  return runs;
}

at::Tensor Packing::pack(const at::Tensor& padded) const {
  return padded.reshape({-1}).index_select(0, places_.to(padded.device()));
}

at::Tensor Packing::unpack(const at::Tensor& packed) const {
  const at::Tensor flat = at::zeros({num_rows_ * num_places_}, packed.options());
  return flat.index_copy(0, places_.to(packed.device()), packed).view({num_rows_, num_places_});
}

at::Tensor Packing::token_indices(const at::Tensor& row_places, const char* what) const {
  const at::Tensor is_place = row_places >= 0;
  if (num_places_ == 0) return at::where(is_place, 0, row_places);
  const at::Tensor mask = mask_.to(row_places.device());
  const at::Tensor is_empty = mask.any(1, true).logical_not();
  const at::Tensor indices = (mask.cumsum(1) - 1).gather(1, row_places.clamp_min(0)).masked_fill(is_empty, 0);
  if (is_place.logical_and(indices < 0).any().item<bool>())
    throw UserError(str(what, " has a place before its row's first token with loss"));
  return at::where(is_place, indices, -1);
}

}  // namespace cohort::python
