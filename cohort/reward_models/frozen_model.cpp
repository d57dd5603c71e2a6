#include "cohort/reward_models/frozen_model.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/models/pretrained.h"
#include "cohort/ops/linear.h"
#include "cohort/tensor/compute.h"

namespace cohort {

std::unique_ptr<Decoder> load_frozen(const std::string& name, const std::string& path,
                                     const std::string& dtype, HeadKind head) {
  if (path.empty())
    throw ConfigError(str("reward ", name, ": `path` is not set: give the model's directory"));
  return load_pretrained(path, parse_dtype(dtype.empty() ? "float32" : dtype), at::kCPU, head,
                         /*is_frozen=*/true);
}

int64_t frozen_model_bytes(const Decoder& decoder, int64_t pass_rows) {
  const DecoderConfig& c = decoder.config();
  const auto element = static_cast<int64_t>(c10::elementSize(decoder.compute_dtype()));
  // The weights as they are and packed. Of a row: the stream, the norm's output, q k v before and behind the
  // rotation, the attended row, and the MLP's gate, up and their product; or all experts' of the row.
  const int64_t q = c.num_attention_heads * c.head_dim, kv = c.num_key_value_heads * c.head_dim;
  const int64_t experts = c.num_experts > 0 ? c.num_experts_per_tok : 1;
  const int64_t inner = std::max(c.intermediate_size, experts * c.moe_intermediate_size);
  const int64_t row = (4 + 2 * experts) * c.hidden_size + 3 * q + 4 * kv + 3 * inner;
  const int64_t weight = 2 * element;
  return weight * decoder.num_parameters() + element * pass_rows * row;
}

}  // namespace cohort
