#include "cohort/train/memory_plan.h"

#include <algorithm>

#include "cohort/core/log.h"
#include "cohort/core/memory.h"
#include "cohort/core/units.h"
#include "cohort/ops/token_logprobs.h"
#include "cohort/sampler/block_manager.h"

namespace cohort {
namespace {

constexpr int64_t kProgramBytes = int64_t{384} << 20;  // libraries, prepared products, data, allocator
constexpr int64_t kFloatBytes = 4;

/// Elements that a layer keeps of one row for its backward: both norms' inputs and outputs, q k v behind the
/// rotation and, where they have norms, before them, the attended rows, and the MLP's inner rows.
int64_t kept_elements(const DecoderConfig& c) {
  const int64_t q = c.num_attention_heads * c.head_dim, kv = c.num_key_value_heads * c.head_dim;
  return 4 * c.hidden_size + (c.qk_norm ? 2 : 1) * (q + 2 * kv) + q + 3 * c.intermediate_size;
}

/// Elements of one row that live only while a layer's backward runs.
int64_t gradient_elements(const DecoderConfig& c) {
  const int64_t q = c.num_attention_heads * c.head_dim, kv = c.num_key_value_heads * c.head_dim;
  return std::max(2 * c.hidden_size + 5 * c.intermediate_size, 2 * c.hidden_size + 3 * q + 6 * kv);
}

int64_t activation_bytes(const Decoder& decoder, const StepShape& step, int64_t rows) {
  const DecoderConfig& config = decoder.config();
  const auto element = static_cast<int64_t>(c10::elementSize(decoder.compute_dtype()));
  const int64_t kept = step.recompute ? config.num_hidden_layers * config.hidden_size + kept_elements(config)
                                      : config.num_hidden_layers * kept_elements(config);
  return rows * element * (kept + gradient_elements(config));
}

/// A chunk of logits in the compute dtype and in float32, and its gradient.
int64_t logits_bytes(const Decoder& decoder, int64_t rows) {
  const int64_t vocabulary = decoder.config().vocab_size;
  const auto element = static_cast<int64_t>(c10::elementSize(decoder.compute_dtype()));
  return std::min(logit_rows_at_once(vocabulary), rows) * vocabulary * (kFloatBytes + 2 * element);
}

int64_t sum(const MemoryPlan::Parts& parts) {
  int64_t total = 0;
  for (const auto& [name, bytes] : parts) total += bytes;
  return total;
}

std::string list(const MemoryPlan::Parts& parts) {
  std::string text;
  for (const auto& [name, bytes] : parts) {
    if (bytes > 0) text += (text.empty() ? "" : ", ") + name + " " + format_bytes(bytes);
  }
  return text;
}

}  // namespace

int64_t MemoryPlan::total() const { return sum(always) + std::max(sum(sampling), sum(updating)); }

std::string MemoryPlan::describe() const {
  std::string text = format_bytes(total()) + ": " + list(always);
  if (!sampling.empty()) text += "; " + list(sampling) + " while sampling";
  return text + (sampling.empty() ? "; " : " or ") + list(updating) + " while updating";
}

MemoryPlan plan_memory(const Decoder& decoder, const StepShape& step) {
  const int64_t parameters = decoder.num_parameters();
  const auto element = static_cast<int64_t>(c10::elementSize(decoder.compute_dtype()));
  const int64_t rows = std::min(step.rows, std::max(step.tokens_per_microbatch, step.longest_sequence));
  const int64_t weights = parameters * (kFloatBytes + element);
  MemoryPlan plan;
  plan.always = {{"weights", weights},
                 {"reference", step.has_reference ? weights : 0},
                 {"gradients", parameters * kFloatBytes},
                 {"optimizer", 2 * parameters * kFloatBytes},
                 {"program", kProgramBytes}};
  const int64_t logits = logits_bytes(decoder, step.rows);
  if (step.cache_pages > 0) {
    const int64_t row_bytes = KvCache::bytes_per_row(decoder.config(), decoder.compute_dtype());
    plan.sampling = {{"KV cache", step.cache_pages * kPageRows * row_bytes}, {"logits", logits}};
  }
  plan.updating = {{"activations", activation_bytes(decoder, step, rows)}, {"logits", logits}};
  return plan;
}

void report_memory(const MemoryPlan& plan) {
  log_info("memory planned: ", plan.describe());
  if (plan.total() > physical_memory_bytes()) {
    log_warn("the machine has ", format_bytes(physical_memory_bytes()),
             ": lower train.tokens_per_microbatch, set train.recompute = true or bound rollout.cache_tokens");
  }
}

}  // namespace cohort
