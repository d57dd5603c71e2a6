#include "cohort/objectives/segments.h"

#include <numeric>

#include "cohort/core/error.h"
#include "cohort/tensor/check.h"

namespace cohort {

Segments::Segments(const std::vector<int64_t>& lengths, const at::Device& device)
    : num_segments_(static_cast<int64_t>(lengths.size())) {
  for (const int64_t length : lengths) COHORT_CHECK(length >= 0, "a segment's length is ", length);
  lengths_ = at::tensor(lengths, at::kLong).to(device);
  index_ = at::repeat_interleave(lengths_);
}

at::Tensor Segments::sum(const at::Tensor& per_token) const {
  check_shape(per_token, {num_tokens()}, "Segments::sum");
  return at::zeros({num_segments_}, per_token.options().requires_grad(false)).index_add(0, index_, per_token);
}

at::Tensor Segments::mean(const at::Tensor& per_token) const {
  return sum(per_token) / lengths(per_token.scalar_type()).clamp_min(1);
}

at::Tensor Segments::expand(const at::Tensor& per_segment) const {
  check_shape(per_segment, {num_segments_}, "Segments::expand");
  return per_segment.index_select(0, index_);
}

int64_t total_length(const std::vector<int64_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

}  // namespace cohort
