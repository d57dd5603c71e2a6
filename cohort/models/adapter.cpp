#include "cohort/models/adapter.h"

#include <algorithm>
#include <cerrno>
#include <regex>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/file_error.h"
#include "cohort/core/local_model.h"
#include "cohort/models/config_reader.h"
#include "cohort/models/model_files.h"
#include "cohort/models/peft_names.h"
#include "cohort/models/pretrained.h"
#include "cohort/ops/linear.h"
#include "cohort/tensor/weight_files.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr char kConfigFile[] = "adapter_config.json";
constexpr char kWeightFile[] = "adapter_model.safetensors";

bool is_on(const Json& value) {
  return !(value.is_null() || value == false || value == "none" ||
           ((value.is_array() || value.is_object()) && value.empty()));
}

/// Keys of PEFT that change what an adapter computes and are not read here.
void refuse_unsupported(const ConfigReader& reader) {
  if (reader.text("peft_type") != "LORA") reader.fail("peft_type", "must be \"LORA\"");
  for (const char* key :
       {"fan_in_fan_out", "bias", "lora_bias", "layer_replication", "trainable_token_indices",
        "target_parameters", "use_qalora", "use_bdlora", "alora_invocation_tokens", "arrow_config",
        "kappa_tune_config", "monteclora_config", "velora_config"}) {
    if (reader.has(key) && is_on(reader.at(key))) {
      reader.fail(key, str("is ", reader.at(key).dump(), ", which is not supported"));
    }
  }
}

/// A list of names, or a string: a regular expression.
void read_names(const ConfigReader& reader, const char* key, std::vector<std::string>& names,
                std::string& pattern) {
  names.clear();
  if (!reader.has(key)) return;
  const Json& value = reader.at(key);
  if (value == "all-linear") {
    names = {"all-linear"};
  } else if (value.is_string()) {
    pattern = value.get<std::string>();
  } else {
    for (const Json& name : value.is_array() ? value : Json::array({nullptr})) {
      if (!name.is_string()) reader.fail(key, "must be a string or a list of strings");
      names.push_back(name.get<std::string>());
    }
  }
}

/// The layers that get adapters, one or a list, and the names of the lists that they stand in.
void read_layers(const ConfigReader& reader, LoraConfig& config) {
  const bool has_layers = reader.has("layers_to_transform") && is_on(reader.at("layers_to_transform"));
  if (has_layers) {
    const Json& layers = reader.at("layers_to_transform");
    for (const Json& layer : layers.is_array() ? layers : Json::array({layers})) {
      if (!layer.is_number_integer() || layer < 0)
        reader.fail("layers_to_transform", "must be the number of a layer or a list of such");
      config.layers_to_transform.push_back(layer.get<int64_t>());
    }
    const bool has_list =
        config.target_pattern.empty() && config.target_modules != std::vector<std::string>{"all-linear"};
    if (!has_list) reader.fail("layers_to_transform", "needs \"target_modules\" as a list of names");
  }
  std::string single;
  read_names(reader, "layers_pattern", config.layers_pattern, single);
  if (!single.empty()) config.layers_pattern = {single};
  if (!config.layers_pattern.empty() && !has_layers)
    reader.fail("layers_pattern", "has no effect without \"layers_to_transform\"");
}

template <typename T>
void read_pattern(const ConfigReader& reader, const char* key, std::map<std::string, T>& patterns) {
  if (!reader.has(key)) return;
  if (!reader.at(key).is_object()) reader.fail(key, "must be an object");
  for (const auto& [pattern, value] : reader.at(key).items()) {
    if (!value.is_number()) reader.fail(key, str("\"", pattern, "\" must be a number"));
    patterns[pattern] = value.template get<T>();
  }
}

/// PEFT's regular expressions, so that a message names the file.
void check_patterns(const ConfigReader& reader, const LoraConfig& config) {
  const auto check = [&](const char* key, const std::string& pattern) {
    try {
      static_cast<void>(std::regex(pattern));
    } catch (const std::regex_error&) {
      reader.fail(key, str("holds ", Json(pattern).dump(), ", which is no regular expression"));
    }
  };
  check("target_modules", config.target_pattern);
  check("exclude_modules", config.exclude_pattern);
  for (const auto& [pattern, r] : config.rank_pattern) check("rank_pattern", pattern);
  for (const auto& [pattern, alpha] : config.alpha_pattern) check("alpha_pattern", pattern);
}

void check_ranks(const ConfigReader& reader, const LoraConfig& config) {
  for (const auto& [pattern, r] : config.rank_pattern) {
    if (r < 1 || r > 1 << 20)
      reader.fail("rank_pattern", str("\"", pattern, "\" must be at least 1, is ", r));
  }
}

/// The names that PEFT would have resolved "all-linear" to.
std::vector<std::string> resolved_targets(const Decoder& decoder) {
  const std::string end = ".lora_A.weight";
  std::set<std::string> names;
  for (const auto& [name, weight] : decoder.adapter_weights()) {
    if (!name.ends_with(end)) continue;
    const std::string module = name.substr(0, name.size() - end.size());
    names.insert(module.substr(module.rfind('.') + 1));
  }
  return {names.begin(), names.end()};
}

Json to_json(const Decoder& decoder, const fs::path& base_dir) {
  const LoraConfig& config = decoder.lora_config();
  const auto names_or_pattern = [](const std::vector<std::string>& names, const std::string& pattern) {
    if (!pattern.empty()) return Json(pattern);
    return names.empty() ? Json() : Json(names);
  };
  const bool is_all = config.target_modules == std::vector<std::string>{"all-linear"};
  const bool is_lm = decoder.config().head == HeadKind::kCausalLm;
  Json json = config.raw;
  json["peft_type"] = "LORA";
  json["task_type"] = is_lm                                                        ? "CAUSAL_LM"
                      : decoder.config().head == HeadKind::kSequenceClassification ? "SEQ_CLS"
                                                                                   : "TOKEN_CLS";
  json["base_model_name_or_path"] = base_dir.string();
  json["inference_mode"] = true;
  json["r"] = config.r;
  json["lora_alpha"] = config.alpha;
  json["lora_dropout"] = config.dropout;
  json["target_modules"] =
      names_or_pattern(is_all ? resolved_targets(decoder) : config.target_modules, config.target_pattern);
  json["exclude_modules"] = names_or_pattern(config.exclude_modules, config.exclude_pattern);
  json["use_rslora"] = config.use_rslora;
  json["use_dora"] = config.use_dora;
  json["rank_pattern"] = config.rank_pattern;
  json["alpha_pattern"] = config.alpha_pattern;
  json["modules_to_save"] = names_or_pattern(config.modules_to_save, "");
  json["bias"] = "none";
  json["fan_in_fan_out"] = false;
  json["init_lora_weights"] = true;
  return json;
}

/// Whether a tensor is the base model's own: PEFT writes head and embedding along where the head is adapted.
bool is_copy_of_base(std::string name, const at::Tensor& tensor, const WeightReader& base,
                     const DecoderConfig& config) {
  if (!name.starts_with(kPeftPrefix)) return false;
  name.erase(0, sizeof(kPeftPrefix) - 1);
  const std::string layer = ".base_layer";
  if (const size_t at = name.find(layer); at != std::string::npos) name.erase(at, layer.size());
  if (name == "lm_head.weight" && config.tie_word_embeddings) name = "model.embed_tokens.weight";
  if (!base.contains(name)) return false;
  const at::Tensor own = base.tensor(name).to(tensor.scalar_type());
  return tensor.sizes() == own.sizes() && at::equal(tensor, own);
}

/// Copies the tensors of a file into the leaves of the adapters of a model that is read from `model_dir`.
void load_tensors(const fs::path& path, const fs::path& model_dir, const Decoder& decoder) {
  const at::NoGradGuard no_grad;
  const SafetensorsFile file(path);
  std::set<std::string> unused;
  for (const auto& [name, info] : file.tensors()) unused.insert(name);
  for (const auto& [name, weight] : decoder.adapter_weights()) {
    if (unused.erase(name) == 0) throw FormatError(str(path.string(), ": lacks the tensor \"", name, "\""));
    const at::Tensor tensor = file.tensor(name);
    if (tensor.sizes() != weight.sizes() || !is_floating(tensor.scalar_type())) {
      throw FormatError(cohort::str(path.string(), ": tensor \"", name, "\" is ", tensor.scalar_type(), " ",
                                    tensor.sizes(), "; the adapter asks for a floating-point tensor of ",
                                    weight.sizes()));
    }
    weight.copy_(tensor);
  }
  if (unused.empty()) return;
  const WeightReader base = WeightReader::open(model_dir);
  for (const std::string& name : unused) {
    if (is_copy_of_base(name, file.tensor(name), base, decoder.config())) continue;
    throw FormatError(str(path.string(), ": tensor \"", name, "\" has no place in the model with this ",
                          kConfigFile, ", nor is it that of the base model"));
  }
}

using TensorMap = std::map<std::string, at::Tensor>;

/// W + scale B A, rows scaled to their magnitudes in DoRA, in float32.
at::Tensor merged(const at::Tensor& weight, const TensorMap& leaves, const std::string& module,
                  const LoraConfig& config) {
  const std::string key = kPeftPrefix + module;
  const Linear b(leaves.at(key + ".lora_B.weight"), {}, at::kFloat);
  const at::Tensor a = leaves.at(key + ".lora_A.weight").to(at::kFloat);
  const at::Tensor update = b.product(a.t().contiguous()).t();  // at::matmul's bits depend on the threads
  at::Tensor sum = weight.to(at::kFloat) + update * lora_shape(config, module).scale;
  const auto magnitude = leaves.find(key + ".lora_magnitude_vector");
  if (magnitude == leaves.end()) return sum;
  return sum * (magnitude->second / at::linalg_vector_norm(sum, 2, 1)).unsqueeze(1);
}

/// A tied head or embedding that was adapted alone is no longer the other one: the merged model holds both.
/// `base` is what both were.
void untie_changed_head(const TensorMap& leaves, const LoraConfig& config, const at::Tensor& base,
                        NamedTensors& weights, Json& json) {
  const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
  const bool has_adapted_head = leaves.count(std::string(kPeftPrefix) + "lm_head.lora_A.weight") > 0;
  const bool has_saved_head = leaves.count(kPeftPrefix + head) > 0;
  if (!has_adapted_head && !has_saved_head && leaves.count(kPeftPrefix + embedding) == 0) return;
  const auto is_head = [&](const auto& named) { return named.first == head; };
  weights.erase(std::remove_if(weights.begin(), weights.end(), is_head), weights.end());
  at::Tensor own = base;
  if (has_saved_head) {
    own = leaves.at(kPeftPrefix + head).to(base.scalar_type());
  } else if (has_adapted_head) {
    own = merged(base, leaves, "lm_head", config).to(base.scalar_type());
  }
  weights.emplace_back(head, own);
  json["tie_word_embeddings"] = false;
}

void load_adapter(const fs::path& model_dir, const fs::path& adapter_dir, Decoder& decoder) {
  decoder.adapt(read_lora_config(adapter_dir), 0);
  load_adapter_weights(model_dir, adapter_dir, decoder);
}

}  // namespace

void load_adapter_weights(const fs::path& model_dir, const fs::path& adapter_dir, Decoder& decoder) {
  load_tensors(local_model(adapter_dir) / kWeightFile, model_dir, decoder);
  decoder.refresh();
}

LoraConfig read_lora_config(const fs::path& adapter_dir) {
  if (!fs::is_directory(local_model(adapter_dir))) {
    throw FileError(ENOENT,
                    str(adapter_dir.string(), ": no such adapter directory", download_advice(adapter_dir)));
  }
  const fs::path path = local_model(adapter_dir) / kConfigFile;
  LoraConfig config;
  config.raw = read_json(path);
  const ConfigReader reader(config.raw, path);
  refuse_unsupported(reader);
  config.r = reader.integer("r", 1, 1 << 20);
  config.alpha = reader.number_or("lora_alpha", 8.0);
  config.dropout = reader.number_or("lora_dropout", 0.0);
  read_names(reader, "target_modules", config.target_modules, config.target_pattern);
  read_names(reader, "exclude_modules", config.exclude_modules, config.exclude_pattern);
  std::string no_pattern;
  read_names(reader, "modules_to_save", config.modules_to_save, no_pattern);
  if (!no_pattern.empty()) config.modules_to_save = {no_pattern};
  read_layers(reader, config);
  config.use_rslora = reader.flag_or("use_rslora", false);
  config.use_dora = reader.flag_or("use_dora", false);
  read_pattern(reader, "rank_pattern", config.rank_pattern);
  read_pattern(reader, "alpha_pattern", config.alpha_pattern);
  check_patterns(reader, config);
  check_ranks(reader, config);
  return config;
}

std::unique_ptr<Decoder> load_adapted(const fs::path& model_dir, const fs::path& adapter_dir,
                                      at::ScalarType compute, at::Device device) {
  auto decoder = load_pretrained(model_dir, compute, device, HeadKind::kCausalLm, /*is_frozen=*/true);
  if (!adapter_dir.empty()) load_adapter(model_dir, adapter_dir, *decoder);
  return decoder;
}

void write_trained_files(const Decoder& decoder, const fs::path& source_dir, const fs::path& chat_template,
                         const fs::path& directory) {
  if (!decoder.is_adapted()) {
    write_model_files(decoder, source_dir, chat_template, directory);
    return;
  }
  copy_text_files(source_dir, directory);
  copy_chat_template(chat_template, directory);
  write_json(directory / kConfigFile, to_json(decoder, source_dir));
}

const char* trained_weight_file(const Decoder& decoder) {
  return decoder.is_adapted() ? kWeightFile : "model.safetensors";
}

void save_adapter(const Decoder& decoder, const fs::path& base_dir, const fs::path& adapter_dir,
                  const fs::path& chat_template) {
  const at::NoGradGuard no_grad;
  write_directory(adapter_dir, [&](const fs::path& directory) {
    write_trained_files(decoder, base_dir, chat_template, directory);
    NamedTensors weights;
    for (const auto& [name, weight] : decoder.adapter_weights()) weights.emplace_back(name, weight.cpu());
    write_safetensors(directory / kWeightFile, weights);
  });
}

void save_trained(const Decoder& decoder, const fs::path& source_dir, const fs::path& output_dir,
                  const fs::path& chat_template) {
  if (decoder.is_adapted()) {
    save_adapter(decoder, source_dir, output_dir, chat_template);
  } else {
    save_pretrained(decoder, source_dir, output_dir, chat_template);
  }
}

void merge_adapter(const fs::path& model_dir, const fs::path& adapter_dir, const fs::path& output_dir) {
  const at::NoGradGuard no_grad;
  Decoder decoder(read_decoder_config(model_dir), at::kFloat, at::kCPU, std::nullopt, /*is_frozen=*/true);
  load_weights(model_dir, decoder);
  load_adapter(model_dir, adapter_dir, decoder);
  const TensorMap leaves(decoder.adapter_weights().begin(), decoder.adapter_weights().end());
  const WeightReader reader = WeightReader::open(model_dir);
  Json config = decoder.config().raw;
  NamedTensors weights;
  for (const std::string& name : reader.names()) {
    const at::Tensor weight = reader.tensor(name);
    const std::string module = name.ends_with(".weight") ? name.substr(0, name.size() - 7) : name;
    const auto saved = leaves.find(kPeftPrefix + name);
    if (saved != leaves.end()) {
      weights.emplace_back(name, saved->second.to(weight.scalar_type()));
    } else if (leaves.count(kPeftPrefix + module + ".lora_A.weight") > 0) {
      weights.emplace_back(name,
                           merged(weight, leaves, module, decoder.lora_config()).to(weight.scalar_type()));
    } else {
      weights.emplace_back(name, weight);
    }
  }
  if (decoder.config().tie_word_embeddings) {
    const at::Tensor base = reader.tensor("model.embed_tokens.weight");
    untie_changed_head(leaves, decoder.lora_config(), base, weights, config);
  }
  write_directory(output_dir, [&](const fs::path& directory) {
    copy_other_files(model_dir, directory, "config.json");
    write_json(directory / "config.json", config);
    write_weights(directory, weights);
  });
}

}  // namespace cohort
