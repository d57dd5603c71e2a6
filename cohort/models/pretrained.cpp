#include "cohort/models/pretrained.h"

#include <set>

#include "cohort/core/error.h"
#include "cohort/models/model_directory.h"
#include "cohort/models/model_files.h"
#include "cohort/tensor/weight_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr char kEmbedding[] = "model.embed_tokens.weight";
constexpr char kHead[] = "lm_head.weight";

const char* describe(HeadKind head) {
  return head == HeadKind::kCausalLm ? "a language model (ForCausalLM)" : "a classification model";
}

const char* dtype_key(const Json& config) { return config.contains("torch_dtype") ? "torch_dtype" : "dtype"; }

Json saved_config(const Decoder& decoder) {
  Json config = decoder.config().raw;
  config[dtype_key(config)] = decoder.compute_dtype() == at::kBFloat16 ? "bfloat16" : "float32";
  return config;
}

}  // namespace

bool is_redundant_tensor(const std::string& name, const DecoderConfig& config) {
  return name.ends_with(".rotary_emb.inv_freq") || (name == "lm_head.weight" && config.tie_word_embeddings);
}

namespace {

/// A redundant tensor of which nothing is lost by leaving it out: a tied head must be the embedding.
bool is_redundant(const std::string& name, const Decoder& decoder, const WeightReader& reader) {
  if (!is_redundant_tensor(name, decoder.config())) return false;
  if (name != kHead) return true;
  const at::Tensor head = reader.tensor(kHead), embedding = reader.tensor(kEmbedding);
  return head.scalar_type() == embedding.scalar_type() && at::equal(head, embedding);
}

/// Every tensor of the files has a place and every weight of the decoder has a tensor.
void check_weights(const fs::path& model_dir, const WeightReader& reader, const Decoder& decoder) {
  std::set<std::string> unused;
  for (const std::string& name : reader.names()) unused.insert(name);
  for (const auto& [name, weight] : decoder.named_weights()) {
    if (!reader.contains(name)) {
      throw FormatError(str(model_dir.string(), ": the weight files lack the tensor \"", name, "\""));
    }
    const TensorInfo& info = reader.info(name);
    if (at::IntArrayRef(info.shape) != weight.sizes() || !is_floating(info.dtype)) {
      throw FormatError(cohort::str(model_dir.string(), ": tensor \"", name, "\" is ", info.dtype, " ",
                                    at::IntArrayRef(info.shape),
                                    "; config.json asks for a floating-point tensor of ", weight.sizes()));
    }
    unused.erase(name);
  }
  for (const std::string& name : unused) {
    if (is_redundant(name, decoder, reader)) continue;
    if (name == kHead && decoder.config().tie_word_embeddings) {
      throw FormatError(str(model_dir.string(), ": tensor \"", name, "\" differs from \"", kEmbedding,
                            "\", which \"tie_word_embeddings\" of config.json says it is"));
    }
    throw FormatError(str(model_dir.string(), ": tensor \"", name, "\" has no place in ",
                          decoder.config().architecture, " with this config.json"));
  }
}

}  // namespace

namespace {

void copy_weights(const WeightReader& reader, Decoder& decoder) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, weight] : decoder.named_weights()) weight.copy_(reader.tensor(name));
  decoder.refresh();
}

}  // namespace

void load_weights(const fs::path& model_dir, Decoder& decoder) {
  const WeightReader reader = WeightReader::open(model_dir);
  check_weights(model_dir, reader, decoder);
  copy_weights(reader, decoder);
}

std::unique_ptr<Decoder> load_pretrained(const fs::path& model_dir, at::ScalarType compute, at::Device device,
                                         HeadKind head, bool is_frozen) {
  DecoderConfig config = read_decoder_config(model_dir);
  if (config.head != head) {
    throw FormatError(str((model_dir / "config.json").string(), ": \"architectures\" names ",
                          config.architecture, "; what is asked for here is ", describe(head)));
  }
  // Before memory is taken: a config.json that contradicts the files may ask for any amount.
  const WeightReader reader = WeightReader::open(model_dir);
  check_weights(model_dir, reader, Decoder(config, at::kFloat, at::kMeta));
  auto decoder = std::make_unique<Decoder>(std::move(config), compute, device, std::nullopt, is_frozen);
  copy_weights(reader, *decoder);
  return decoder;
}

std::unique_ptr<Decoder> load_with_head(const fs::path& model_dir, at::ScalarType compute, at::Device device,
                                        HeadKind head, int64_t num_labels, uint64_t seed) {
  DecoderConfig config = read_decoder_config(model_dir);
  if (config.head != HeadKind::kCausalLm) return load_pretrained(model_dir, compute, device, head);
  const fs::path path = model_dir / "config.json";
  const DecoderConfig body = config;
  config = parse_decoder_config(config_with_head(body.raw, path, head, num_labels), path);
  config.eos_token_ids = body.eos_token_ids;
  auto decoder = std::make_unique<Decoder>(std::move(config), compute, device, seed);
  const at::NoGradGuard no_grad;
  const WeightReader reader = WeightReader::open(model_dir);
  check_weights(model_dir, reader, Decoder(body, at::kFloat, at::kMeta));
  for (const auto& [name, weight] : decoder->named_weights()) {
    if (!name.starts_with("score.")) weight.copy_(reader.tensor(name));
  }
  decoder->refresh();
  return decoder;
}

void copy_pretrained(const fs::path& source_dir, const fs::path& model_dir) {
  const at::NoGradGuard no_grad;
  const Decoder shapes(read_decoder_config(source_dir), at::kFloat, at::kMeta);
  const WeightReader reader = WeightReader::open(source_dir);
  check_weights(source_dir, reader, shapes);
  NamedTensors weights;
  const Json& config = shapes.config().raw;
  const bool is_rounded = is_checkpoint(source_dir) && config.value(dtype_key(config), "") == "bfloat16";
  for (const std::string& name : reader.names()) {
    const at::Tensor weight = reader.tensor(name);
    weights.emplace_back(name, is_rounded ? weight.to(at::kBFloat16) : weight);
  }
  write_directory(model_dir, [&](const fs::path& directory) {
    copy_other_files(source_dir, directory, "");
    write_weights(directory, weights);
  });
}

void write_model_files(const Decoder& decoder, const fs::path& source_dir, const fs::path& chat_template,
                       const fs::path& directory) {
  copy_other_files(source_dir, directory, "config.json");
  copy_chat_template(chat_template, directory);
  write_json(directory / "config.json", saved_config(decoder));
}

void save_pretrained(const Decoder& decoder, const fs::path& source_dir, const fs::path& model_dir,
                     const fs::path& chat_template) {
  const at::NoGradGuard no_grad;
  const NamedTensors weights = decoder.rounded_weights();
  write_directory(model_dir, [&](const fs::path& directory) {
    write_model_files(decoder, source_dir, chat_template, directory);
    write_weights(directory, weights);
  });
}

}  // namespace cohort
