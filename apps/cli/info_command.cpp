// cohort info: what a model directory holds, and the memory that it needs.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>

#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/core/local_model.h"
#include "cohort/core/units.h"
#include "cohort/models/adapter.h"
#include "cohort/models/kv_cache.h"
#include "cohort/models/model_directory.h"
#include "cohort/models/pretrained.h"
#include "cohort/ops/cpu_arch.h"
#include "cohort/ops/linear.h"
#include "cohort/sampler/model_tokenizer.h"
#include "cohort/sampler/sampler.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/tensor/weight_files.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/memory_plan.h"

namespace cohort::cli {
namespace {

struct InfoConfig {
  void describe(FieldVisitor&) {}
};

struct WeightSummary {
  int64_t num_parameters = 0;
  int64_t num_tensors = 0;
  std::map<std::string, int64_t> bytes_by_dtype;
};

template <typename... Args>
void print_line(const char* label, const Args&... args) {
  std::cout << std::left << std::setw(14) << label << cohort::str(args...) << "\n";
}

/// From the headers of the files alone: the weights are not read.
WeightSummary read_weights(const std::string& model_dir, const DecoderConfig& config) {
  const WeightReader reader = WeightReader::open(model_dir);
  WeightSummary summary;
  for (const std::string& name : reader.names()) {
    const TensorInfo& info = reader.info(name);
    ++summary.num_tensors;
    summary.bytes_by_dtype[c10::toString(info.dtype)] += static_cast<int64_t>(info.end - info.begin);
    if (is_redundant_tensor(name, config)) continue;
    int64_t count = 1;
    for (const int64_t size : info.shape) count *= size;
    summary.num_parameters += count;
  }
  return summary;
}

/// ", positions yarn x 4" and the like; nothing where no rope is scaled.
std::string rope_text(const DecoderConfig& config) {
  std::string text;
  for (const RopeConfig& rope : config.ropes) {
    if (rope.rope_type != "default") text += str(", positions ", rope.rope_type, " x ", rope.factor);
  }
  return text;
}

/// What the family has beyond the common decoder.
void print_features(const DecoderConfig& config) {
  const auto layers_where = [&](auto has) {
    return std::count_if(config.layers.begin(), config.layers.end(), has);
  };
  const auto windows = layers_where([](const LayerConfig& layer) { return layer.window > 0; });
  if (windows > 0) print_line("windows", config.sliding_window, " tokens in ", windows, " layers");
  if (config.attention_softcap > 0) print_line("caps", "scores ", config.attention_softcap);
  if (config.final_softcap > 0) print_line("caps", "logits ", config.final_softcap);
  const auto mixtures = layers_where([](const LayerConfig& layer) { return layer.has_experts; });
  if (mixtures > 0) {
    print_line("experts", config.num_experts, " of width ", config.moe_intermediate_size, " in ", mixtures,
               " layers, ", config.num_experts_per_tok, " a token");
  }
  if (config.head != HeadKind::kCausalLm) print_line("head", config.num_labels, " scores");
  for (const std::string& note : config.notes) print_line("left aside", note);
}

void print_shape(const DecoderConfig& config) {
  print_line("architecture", config.architecture);
  print_line("layers", config.num_hidden_layers, " of width ", config.hidden_size, ", MLP ",
             config.intermediate_size);
  print_line("attention", config.num_attention_heads, " heads of ", config.head_dim, ", ",
             config.num_key_value_heads, " of keys and values", config.qk_norm ? ", q/k norm" : "",
             config.qkv_bias ? ", qkv bias" : "");
  print_line("vocabulary", config.vocab_size,
             config.tie_word_embeddings ? ", head tied to the embedding" : ", own head");
  print_line("context", config.context_length, " tokens", rope_text(config));
  print_features(config);
}

void print_weights(const WeightSummary& weights) {
  print_line("parameters", weights.num_parameters);
  std::string files;
  for (const auto& [dtype, bytes] : weights.bytes_by_dtype) {
    files += (files.empty() ? "" : ", ") + format_bytes(bytes) + " of " + dtype;
  }
  print_line("weight files", weights.num_tensors, " tensors: ", files);
}

void print_text(const Tokenizer* tokenizer, const DecoderConfig& config) {
  if (tokenizer == nullptr) {
    print_line("tokenizer", "none: prompts must be token ids");
  } else {
    int64_t num_special = 0;
    for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) num_special += tokenizer->is_special(id);
    print_line("tokenizer", "BPE, ", tokenizer->vocab_size(), " ids, ", num_special, " of them special");
  }
  std::string stops;
  for (const int32_t id : stop_token_ids(config, tokenizer)) {
    const auto token = tokenizer != nullptr ? tokenizer->token(id) : std::nullopt;
    stops += str(stops.empty() ? "" : ", ", id, token ? " " + *token : "");
  }
  print_line("stop ids", stops.empty() ? "none: completions end by their length" : stops);
}

/// An adapter on the model that the other lines describe.
void print_adapter(const ModelPlace& place) {
  const LoraConfig lora = read_lora_config(place.adapter_dir);
  std::string targets = lora.target_pattern;
  for (const std::string& name : lora.target_modules) targets += (targets.empty() ? "" : ", ") + name;
  int64_t num_parameters = 0;
  const SafetensorsFile file(local_model(place.adapter_dir) / "adapter_model.safetensors");
  for (const auto& [name, info] : file.tensors()) {
    int64_t count = 1;
    for (const int64_t size : info.shape) count *= size;
    num_parameters += count;
  }
  print_line("adapter", lora.use_dora ? "DoRA" : "LoRA", ", r ", lora.r, ", alpha ", lora.alpha, ", on ",
             targets, ": ", num_parameters, " parameters");
  print_line("base model", place.model_dir.string());
}

/// The memory of a step with a recipe's defaults, shorter where the model's context is short.
void print_memory(const DecoderConfig& config) {
  const TrainConfig recipe;
  const RolloutConfig& rollout = recipe.rollout;
  const int64_t prompt_tokens = std::min<int64_t>(512, config.context_length / 2);
  const int64_t longest = std::min(rollout.max_completion_length, config.context_length - prompt_tokens);
  const int64_t completions = rollout.prompts_per_step * rollout.num_generations;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Decoder decoder(config, dtype, at::kMeta);
    const int64_t rows = rollout.prompts_per_step * prompt_tokens + completions * longest;
    const StepShape step{.longest_sequence = prompt_tokens + longest,
                         .rows = rows,
                         .tokens_per_microbatch = recipe.train.tokens_per_microbatch,
                         .largest_group = prompt_tokens + rollout.num_generations * longest,
                         .cache_pages = default_cache_pages(
                             config, dtype, std::vector(rollout.prompts_per_step, prompt_tokens),
                             std::vector(rollout.prompts_per_step, rollout.num_generations), longest),
                         .record = plan_record(decoder, rows)};
    const auto packed = static_cast<int64_t>(c10::elementSize(dtype));
    print_line(dtype == at::kFloat ? "float32" : "bfloat16", 16 + packed,
               " bytes a parameter to train (master 4, gradient 4, Adam 8, packed copy ", packed,
               "); KV cache ", KvCache::bytes_per_row(config, dtype), " bytes a token");
    print_line("  training", plan_memory(decoder, step).describe());
    print_line("  sampling", plan_sampling_memory(decoder, step.cache_pages, completions).describe());
  }
  print_line("planned for", rollout.prompts_per_step, " prompts of ", prompt_tokens, " tokens x ",
             rollout.num_generations, " completions of ", longest);
}

}  // namespace

int info_command(const Command& self, const Arguments& arguments) {
  InfoConfig config;
  const auto model = read_one_argument(self, arguments, config, "a model directory");
  if (!model) return 0;
  const ModelPlace place = find_model(*model);
  const std::string model_dir = place.model_dir.string();
  if (!place.adapter_dir.empty()) print_adapter(place);
  const ConfigReport report = inspect_decoder_config(model_dir);
  if (report.config) {
    const WeightSummary weights = read_weights(model_dir, *report.config);
    const auto tokenizer = read_tokenizer(model_dir, *report.config);
    print_shape(*report.config);
    print_weights(weights);
    print_text(tokenizer.get(), *report.config);
    print_memory(*report.config);
    print_line("processor", describe_cpu_arch());
  }
  for (const std::string& line : report.unsupported) print_line("unsupported", line);
  if (!report.unsupported.empty()) {
    throw FormatError(str(model_dir, "/config.json asks for what is not supported; it is listed above"));
  }
  return 0;
}

}  // namespace cohort::cli
