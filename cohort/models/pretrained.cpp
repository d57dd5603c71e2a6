#include "cohort/models/pretrained.h"

#include <set>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/tensor/weight_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

bool is_floating(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kHalf || dtype == at::kDouble;
}

constexpr char kEmbedding[] = "model.embed_tokens.weight";
constexpr char kHead[] = "lm_head.weight";

bool is_weight_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json") ||
         name.ends_with(".bin") || name.ends_with(".bin.index.json") || name.ends_with(".gguf") ||
         name.ends_with(".pt") || name.ends_with(".pth");
}

Json saved_config(const Decoder& decoder) {
  Json config = decoder.config().raw;
  const char* dtype = decoder.compute_dtype() == at::kBFloat16 ? "bfloat16" : "float32";
  config[config.contains("torch_dtype") ? "torch_dtype" : "dtype"] = dtype;
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

}  // namespace

void load_weights(const fs::path& model_dir, Decoder& decoder) {
  const at::NoGradGuard no_grad;
  const WeightReader reader = WeightReader::open(model_dir);
  std::set<std::string> unused;
  for (const std::string& name : reader.names()) unused.insert(name);
  for (const auto& [name, weight] : decoder.named_weights()) {
    if (!reader.contains(name)) {
      throw FormatError(str(model_dir.string(), ": the weight files lack the tensor \"", name, "\""));
    }
    const at::Tensor tensor = reader.tensor(name);
    if (tensor.sizes() != weight.sizes() || !is_floating(tensor.scalar_type())) {
      throw FormatError(cohort::str(model_dir.string(), ": tensor \"", name, "\" is ", tensor.scalar_type(),
                                    " ", tensor.sizes(), "; config.json asks for a floating-point tensor of ",
                                    weight.sizes()));
    }
    weight.copy_(tensor);
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
  decoder.refresh();
}

std::unique_ptr<Decoder> load_pretrained(const fs::path& model_dir, at::ScalarType compute,
                                         at::Device device) {
  auto decoder = std::make_unique<Decoder>(read_decoder_config(model_dir), compute, device);
  load_weights(model_dir, *decoder);
  return decoder;
}

void save_pretrained(const Decoder& decoder, const fs::path& source_dir, const fs::path& model_dir) {
  const at::NoGradGuard no_grad;
  const fs::path temporary = model_dir.string() + ".tmp";
  retire_directory(temporary);
  fs::create_directories(temporary);
  for (const fs::directory_entry& entry : fs::directory_iterator(source_dir)) {
    if (entry.is_regular_file() && !is_weight_file(entry.path()) &&
        entry.path().filename() != "config.json") {
      fs::copy_file(entry.path(), temporary / entry.path().filename());
    }
  }
  write_json(temporary / "config.json", saved_config(decoder));
  NamedTensors weights;
  for (const auto& [name, weight] : decoder.named_weights()) {
    weights.emplace_back(name, weight.to(at::kCPU, decoder.compute_dtype()));
  }
  write_weights(temporary, weights);
  retire_directory(model_dir);
  publish_directory(temporary, model_dir);
}

}  // namespace cohort
