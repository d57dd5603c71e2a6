#include "cohort/train/run/memory_plan.h"

#include <algorithm>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/core/log.h"
#include "cohort/core/memory.h"
#include "cohort/core/units.h"
#include "cohort/ops/linear.h"
#include "cohort/ops/token_logprobs.h"
#include "cohort/records/run_directory.h"
#include "cohort/sampler/block_manager.h"
#include "cohort/train/run/microbatches.h"

namespace cohort {
namespace {

constexpr int64_t kGrowthBytes = int64_t{32} << 20;  // prepared products, stacks, what the allocator keeps
constexpr int64_t kFloatBytes = 4;

/// Elements of one row inside an MLP, or of all experts that a row chose.
int64_t inner_elements(const DecoderConfig& c, const LayerConfig& layer) {
  return layer.has_experts ? c.num_experts_per_tok * c.moe_intermediate_size : c.intermediate_size;
}

/// Elements that a layer keeps of one row for its backward: the norms' inputs, q k v behind the rotation and,
/// where they have norms, before them, the attended rows, and the MLP's gate and up; with experts also the
/// rows that the router reads, as they are spread over the experts, and their outputs.
int64_t kept_elements(const DecoderConfig& c, const LayerConfig& layer) {
  const int64_t q = c.num_attention_heads * c.head_dim, kv = c.num_key_value_heads * c.head_dim;
  const int64_t norms = 2 + (c.names.post_attention_norm != nullptr) + (c.names.post_mlp_norm != nullptr);
  const int64_t spread =
      layer.has_experts ? (2 * c.num_experts_per_tok + 1) * c.hidden_size + 4 * c.num_experts : 0;
  return norms * c.hidden_size + (c.qk_norm ? 2 : 1) * (q + 2 * kv) + q + 2 * inner_elements(c, layer) +
         spread;
}

/// Elements of one row that live only while a layer's backward runs.
int64_t gradient_elements(const DecoderConfig& c) {
  const int64_t q = c.num_attention_heads * c.head_dim, kv = c.num_key_value_heads * c.head_dim;
  int64_t mlp = 0;
  for (const LayerConfig& layer : c.layers) {
    const int64_t rows = layer.has_experts ? c.num_experts_per_tok : 1;
    mlp = std::max(mlp, 2 * rows * c.hidden_size + 5 * inner_elements(c, layer));
  }
  return std::max(mlp, 2 * c.hidden_size + 3 * q + 6 * kv);
}

/// What a row keeps until its backward; `makes_again`: of the layers one at a time, beside all layers'
/// inputs.
int64_t kept_bytes(const Decoder& decoder, bool makes_again) {
  const DecoderConfig& config = decoder.config();
  int64_t kept = 0;
  for (const LayerConfig& layer : config.layers) {
    const int64_t own = kept_elements(config, layer);
    kept = makes_again ? std::max(kept, own) : kept + own;
  }
  if (makes_again) kept += config.num_hidden_layers * config.hidden_size;
  return kept * static_cast<int64_t>(c10::elementSize(decoder.compute_dtype()));
}

int64_t activation_bytes(const Decoder& decoder, const StepShape& step, int64_t rows) {
  const RecordPlan& record = step.record;
  const bool has_layers = record.rows > 0 && record.parts == RecordedParts::kAll && record.covers_step;
  const auto gradient_element =
      static_cast<int64_t>(c10::elementSize(decoder.is_adapted() ? at::kFloat  // adapters' dtype
                                                                 : decoder.compute_dtype()));
  return rows * (kept_bytes(decoder, step.recompute || has_layers) +
                 gradient_element * gradient_elements(decoder.config()));
}

/// A chunk of the head's products, which become their own gradient; the scores of a classification head are
/// few.
int64_t products_bytes(const Decoder& decoder, int64_t rows, at::ScalarType dtype) {
  if (decoder.config().head != HeadKind::kCausalLm) return 0;
  const int64_t vocabulary = decoder.config().vocab_size;
  return std::min(logit_rows_at_once(vocabulary), rows) * vocabulary *
         static_cast<int64_t>(c10::elementSize(dtype));
}

/// Products and the logits made from them.
int64_t sampled_logits_bytes(const Decoder& decoder, int64_t rows) {
  return products_bytes(decoder, rows, decoder.compute_dtype()) + products_bytes(decoder, rows, at::kFloat);
}

/// The largest weight as its backward reads it, and its gradient, where it has one, before it is added to the
/// others.
int64_t weight_backward_bytes(const Decoder& decoder) {
  int64_t largest = 0;
  for (const auto& [name, weight] : decoder.named_weights()) largest = std::max(largest, weight.numel());
  for (const at::Tensor& leaf : decoder.parameters()) largest = std::max(largest, leaf.numel());
  const auto element = static_cast<int64_t>(c10::elementSize(decoder.compute_dtype()));
  return largest * (element + (decoder.is_frozen() ? 0 : kFloatBytes));
}

/// A trained model as float32 masters and packed, where processes share out the masters of packed
/// projections; a frozen one packed, but for the embeddings, which a tied head has packed beside them.
/// (Adapters are masters and packed, both float32.)
int64_t weight_bytes(const Decoder& decoder, int64_t num_processes = 1) {
  const auto element = static_cast<int64_t>(c10::elementSize(decoder.compute_dtype()));
  if (!decoder.is_frozen()) {
    const int64_t elsewhere = decoder.num_packed() / num_processes * (num_processes - 1);
    return decoder.num_parameters() * (kFloatBytes + element) - elsewhere * kFloatBytes;
  }
  const DecoderConfig& config = decoder.config();
  const bool is_tied = config.head == HeadKind::kCausalLm && config.tie_word_embeddings;
  return (decoder.num_parameters() + (is_tied ? config.vocab_size * config.hidden_size : 0)) * element;
}

/// What the process takes beside what is planned and `loaded` already: libraries, tokenizer and data as they
/// lie in memory now, and what comes while it runs.
int64_t program_bytes(const Decoder& decoder, int64_t loaded) {
  const int64_t planned = decoder.device().is_cpu() ? loaded : 0;
  return std::max<int64_t>(0, resident_memory_bytes() - planned) + kGrowthBytes;
}

int64_t cache_bytes(const Decoder& decoder, int64_t pages) {
  return pages * kPageRows * KvCache::bytes_per_row(decoder.config(), decoder.compute_dtype());
}

int64_t record_bytes(const Decoder& decoder, const RecordPlan& plan) {
  return plan.rows * ActivationRecord::bytes_per_row(decoder.config(), decoder.compute_dtype(), plan.parts);
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
  std::string phases;
  if (!sampling.empty()) phases = list(sampling) + " while sampling";
  if (!updating.empty()) phases += (phases.empty() ? "" : " or ") + list(updating) + " while updating";
  return format_bytes(total()) + ": " + list(always) + "; " + phases;
}

namespace {

int64_t largest_microbatch(const Decoder& decoder, const StepShape& step) {
  const MicrobatchRows rows = microbatch_rows(step.tokens_per_microbatch, decoder, step.recompute);
  if (step.equal_groups) return rows.filled(*step.equal_groups);
  const int64_t most = std::min(rows.most, std::max(rows.shared, step.largest_group));
  return std::min(step.rows, std::max(most, step.longest_sequence));
}

/// What an update of `decoder` takes while it runs.
MemoryPlan::Parts update_parts(const Decoder& decoder, const StepShape& step) {
  const int64_t rows = largest_microbatch(decoder, step);
  const int64_t count = (step.rows + rows - 1) / rows;
  const int64_t at_once = step.is_side_by_side ? microbatches_at_once(decoder, count) : 1;
  const int64_t gradients = decoder.num_trained() * kFloatBytes;
  return {{"activations", at_once * activation_bytes(decoder, step, rows)},
          {"logits", at_once * products_bytes(decoder, rows, decoder.compute_dtype())},
          {"a weight's gradient", at_once * weight_backward_bytes(decoder)},
          {"gradients apart",
           decoder.is_small() && step.is_side_by_side ? (at_once > 1 ? count : 1) * gradients : 0},
          {"gradients of slots", step.gradient_copies * gradients},
          {"exchange of gradients", step.exchange_bytes}};
}

}  // namespace

MicrobatchRows microbatch_rows(int64_t tokens_per_microbatch, const Decoder& decoder, bool recompute) {
  constexpr int64_t kMost = 2560, kSharedBytes = int64_t{512} << 20;
  if (tokens_per_microbatch > 0) return tokens_per_microbatch;
  return {kMost, kSharedBytes / kept_bytes(decoder, recompute)};
}

RecordPlan plan_record(const Decoder& decoder, int64_t rows, int64_t num_rollouts) {
  if (!ActivationRecord::fits(decoder)) return {};
  for (const auto& [parts, share] : {std::pair(RecordedParts::kAll, 16), {RecordedParts::kDown, 70}}) {
    const int64_t fitting = physical_memory_bytes() / share / record_bytes(decoder, {1, parts});
    if (fitting >= rows)
      return {std::min(fitting, num_rollouts * rows), parts, fitting >= num_rollouts * rows};
  }
  return {};
}

MemoryPlan plan_memory(const Decoder& decoder, const StepShape& step) {
  const int64_t trained = decoder.num_trained();
  const bool is_adapted = decoder.is_adapted();
  const int64_t weights = weight_bytes(decoder, step.has_whole_masters ? 1 : step.num_processes);
  const int64_t adapters = is_adapted ? trained * 2 * kFloatBytes : 0;
  const bool has_copy = step.has_reference && (!is_adapted || step.has_adapted_reference);
  const int64_t reference = has_copy ? weight_bytes(decoder) : 0;
  const int64_t moments = 2 * trained * kFloatBytes / step.num_processes;
  const int64_t critic_gradients = step.critic != nullptr ? step.critic->num_trained() * kFloatBytes : 0;
  const int64_t critic = step.critic != nullptr ? weight_bytes(*step.critic, step.num_processes) +
                                                      2 * critic_gradients / step.num_processes
                                                : 0;
  MemoryPlan plan;
  plan.always = {{"weights", weights},
                 {"adapters", adapters},
                 {"reference", reference},
                 {"gradients", trained * kFloatBytes},
                 {"optimizer", moments},
                 {"critic", critic + critic_gradients},
                 {"record of the sampler", record_bytes(decoder, step.record)},
                 {"rewards", step.loaded_reward_bytes}};
  plan.always.emplace_back("program", program_bytes(decoder, weights + adapters + reference + moments +
                                                                 critic + step.loaded_reward_bytes));
  if (step.cache_pages > 0)
    plan.sampling = {{"KV cache", cache_bytes(decoder, step.cache_pages)},
                     {"logits", sampled_logits_bytes(decoder, step.num_sequences)}};
  if (step.reward_bytes > step.loaded_reward_bytes)  // they judge while completions are sampled
    plan.sampling.emplace_back("rewards at work", step.reward_bytes - step.loaded_reward_bytes);
  plan.updating = update_parts(decoder, step);
  if (step.critic == nullptr) return plan;
  // One update is done before the other begins.
  StepShape forwarded = step;
  forwarded.record = {};
  const MemoryPlan::Parts other = update_parts(*step.critic, forwarded);
  if (sum(other) > sum(plan.updating)) plan.updating = other;
  return plan;
}

MemoryPlan plan_sampling_memory(const Decoder& decoder, int64_t cache_pages, int64_t num_sequences) {
  MemoryPlan plan;
  const int64_t weights = weight_bytes(decoder);
  plan.always = {{"weights", weights}, {"program", program_bytes(decoder, weights)}};
  plan.sampling = {{"KV cache", cache_bytes(decoder, cache_pages)},
                   {"logits", sampled_logits_bytes(decoder, num_sequences)}};
  return plan;
}

void check_memory(const MemoryPlan& plan, int64_t num_processes) {
  MemoryPlan::Parts held;
  for (const auto& part : plan.always) {
    for (const char* name : {"weights", "adapters", "reference", "gradients", "optimizer", "critic"}) {
      if (part.first == name) held.push_back(part);
    }
  }
  const int64_t least = sum(held), machine = physical_memory_bytes();
  if (num_processes * least <= machine) return;
  throw ConfigError(str("the run takes at least ", format_bytes(least),
                        num_processes > 1 ? str(" in each of ", num_processes, " processes") : "",
                        " and the machine has ", format_bytes(machine), " (", list(held),
                        "): take a smaller model or an adapter, or ",
                        num_processes > 1 ? "fewer processes on a machine"
                                          : "share the run out over machines (docs/processes.md)"));
}

namespace {

Json to_json(const MemoryPlan& plan) {
  const auto parts = [](const MemoryPlan::Parts& from) {
    Json json = Json::object();
    for (const auto& [name, bytes] : from) json[name] = bytes;
    return json;
  };
  return {{"total_bytes", plan.total()},
          {"always", parts(plan.always)},
          {"sampling", parts(plan.sampling)},
          {"updating", parts(plan.updating)}};
}

}  // namespace

void report_memory(const MemoryPlan& plan, const RunDirectory* run, int64_t num_processes) {
  if (run != nullptr) write_file_atomically(run->memory_plan_file(), to_json_text(to_json(plan)) + "\n");
  const std::string each =
      num_processes > 1 ? str(" for each of ", num_processes, " processes on this machine") : "";
  log_info("memory planned", each, ": ", plan.describe());
  if (num_processes * plan.total() > physical_memory_bytes()) {
    log_warn("the machine has ", format_bytes(physical_memory_bytes()),
             ": lower train.tokens_per_microbatch (0 is up to 2,560), set train.recompute = true or bound "
             "rollout.cache_tokens");
  }
}

}  // namespace cohort
