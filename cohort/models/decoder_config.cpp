#include "cohort/models/decoder_config.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

enum Bias { kNever, kAlways, kByConfig };

struct Family {
  const char* architecture;
  const char* model_type;
  Bias qkv_bias;
  Bias output_bias;
  bool qk_norm;
};

constexpr Family kFamilies[] = {
#define FAMILY(architecture, model_type, qkv_bias, output_bias, qk_norm) \
  {#architecture, model_type, qkv_bias, output_bias, qk_norm},
#include "cohort/models/families.def"
#undef FAMILY
};

/// Reads keys of one JSON object; every error names file and key.
class ConfigReader {
 public:
  ConfigReader(const Json& object, const fs::path& path) : object_(object), path_(path) {
    if (!object.is_object()) throw FormatError(str(path.string(), ": expected a JSON object"));
  }

  bool has(const char* key) const { return object_.contains(key) && !object_.at(key).is_null(); }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw FormatError(str(path_.string(), ": key \"", key, "\" ", what));
  }

  int64_t integer(const char* key, int64_t least, int64_t most = int64_t{1} << 31) const {
    if (!has(key)) fail(key, "is missing");
    const Json& value = object_.at(key);
    if (!value.is_number_integer()) fail(key, "must be an integer");
    const auto number = value.get<int64_t>();
    if (number < least || number > most) fail(key, str("must be in ", least, "..", most, ", is ", number));
    return number;
  }

  int64_t integer_or(const char* key, int64_t fallback, int64_t least) const {
    return has(key) ? integer(key, least) : fallback;
  }

  double number_or(const char* key, double fallback) const {
    if (!has(key)) return fallback;
    if (!object_.at(key).is_number()) fail(key, "must be a number");
    return object_.at(key).get<double>();
  }

  bool flag_or(const char* key, bool fallback) const {
    if (!has(key)) return fallback;
    if (!object_.at(key).is_boolean()) fail(key, "must be true or false");
    return object_.at(key).get<bool>();
  }

  const Json& at(const char* key) const { return object_.at(key); }

 private:
  const Json& object_;
  const fs::path& path_;
};

const Family& family_of(const ConfigReader& reader) {
  if (reader.has("architectures") && reader.at("architectures").is_array() &&
      !reader.at("architectures").empty()) {
    const Json& name = reader.at("architectures")[0];
    for (const Family& family : kFamilies) {
      if (name == family.architecture) return family;
    }
    reader.fail("architectures",
                str("names ", name.dump(), "; supported are ", Json(supported_architectures()).dump()));
  }
  if (reader.has("model_type")) {
    for (const Family& family : kFamilies) {
      if (reader.at("model_type") == family.model_type) return family;
    }
  }
  reader.fail("architectures", str("is missing; supported are ", Json(supported_architectures()).dump()));
}

bool bias_of(Bias bias, const ConfigReader& reader) {
  return bias == kAlways || (bias == kByConfig && reader.flag_or("attention_bias", false));
}

/// rope_theta at the top (transformers 4) or in rope_parameters (5); any scaling is refused by name.
double rope_theta(const ConfigReader& reader, const fs::path& path) {
  double theta = reader.number_or("rope_theta", 10000.0);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!reader.has(key)) continue;
    const ConfigReader rope(reader.at(key), path);
    for (const char* type_key : {"rope_type", "type"}) {
      if (rope.has(type_key) && rope.at(type_key) != "default") {
        reader.fail(str(key, ".", type_key),
                    str("is ", rope.at(type_key).dump(), "; only \"default\" is supported"));
      }
    }
    theta = rope.number_or("rope_theta", theta);
  }
  if (!(theta > 0.0)) reader.fail("rope_theta", "must be positive");
  return theta;
}

void refuse_unsupported(const ConfigReader& reader) {
  if (reader.has("hidden_act") && reader.at("hidden_act") != "silu") {
    reader.fail("hidden_act", str("is ", reader.at("hidden_act").dump(), "; only \"silu\" is supported"));
  }
  if (reader.flag_or("use_sliding_window", false)) {
    reader.fail("use_sliding_window", "is true; sliding windows are not supported");
  }
  if (reader.has("quantization_config"))
    reader.fail("quantization_config", "is set; load the unquantised model");
}

void read_eos(const Json& value, const ConfigReader& reader, std::vector<int32_t>& ids) {
  for (const Json& id : value.is_array() ? value : Json::array({value})) {
    const int64_t wide = id.is_number_integer() ? id.get<int64_t>() : -1;
    const auto number = static_cast<int32_t>(wide);
    if (wide < 0 || wide != number) reader.fail("eos_token_id", "must be an id or a list of ids");
    if (std::find(ids.begin(), ids.end(), number) == ids.end()) ids.push_back(number);
  }
}

}  // namespace

std::vector<std::string> supported_architectures() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.architecture);
  return names;
}

DecoderConfig parse_decoder_config(const Json& raw, const fs::path& path) {
  const ConfigReader reader(raw, path);
  const Family& family = family_of(reader);
  refuse_unsupported(reader);
  DecoderConfig config;
  config.raw = raw;
  config.architecture = family.architecture;
  config.vocab_size = reader.integer("vocab_size", 1);
  config.hidden_size = reader.integer("hidden_size", 1);
  config.intermediate_size = reader.integer("intermediate_size", 1);
  config.num_hidden_layers = reader.integer("num_hidden_layers", 1, 100000);
  config.num_attention_heads = reader.integer("num_attention_heads", 1, 100000);
  config.num_key_value_heads = reader.integer_or("num_key_value_heads", config.num_attention_heads, 1);
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    reader.fail("num_key_value_heads", str("is ", config.num_key_value_heads, ", which does not divide ",
                                           config.num_attention_heads, " attention heads"));
  }
  config.head_dim = reader.integer_or("head_dim", config.hidden_size / config.num_attention_heads, 2);
  if (config.head_dim < 2 || config.head_dim % 2 != 0) {
    reader.fail("head_dim", str("must be even and positive, is ", config.head_dim));
  }
  config.max_position_embeddings = reader.integer_or("max_position_embeddings", 2048, 1);
  config.rms_norm_eps = reader.number_or("rms_norm_eps", 1e-6);
  config.rope_theta = rope_theta(reader, path);
  config.initializer_range = reader.number_or("initializer_range", 0.02);
  config.tie_word_embeddings = reader.flag_or("tie_word_embeddings", false);
  config.qkv_bias = bias_of(family.qkv_bias, reader);
  config.output_bias = bias_of(family.output_bias, reader);
  config.mlp_bias = reader.flag_or("mlp_bias", false);
  config.qk_norm = family.qk_norm;
  if (reader.has("eos_token_id")) read_eos(raw.at("eos_token_id"), reader, config.eos_token_ids);
  return config;
}

DecoderConfig read_decoder_config(const fs::path& model_dir) {
  if (!fs::is_directory(model_dir)) {
    throw FormatError(str(model_dir.string(), ": no such model directory"));
  }
  const fs::path path = model_dir / "config.json";
  DecoderConfig config = parse_decoder_config(read_json(path), path);
  const fs::path generation = model_dir / "generation_config.json";
  if (fs::exists(generation)) {
    const Json raw = read_json(generation);
    const ConfigReader reader(raw, generation);
    if (reader.has("eos_token_id")) read_eos(raw.at("eos_token_id"), reader, config.eos_token_ids);
  }
  return config;
}

}  // namespace cohort
