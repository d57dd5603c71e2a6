#include "cohort/models/decoder_config.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/file_error.h"
#include "cohort/core/local_model.h"
#include "cohort/models/config_reader.h"
#include "cohort/models/family.h"
#include "cohort/models/model_directory.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

const Family* const kFamilies[] = {
#define FAMILY(name) &(name),
#include "cohort/models/families.def"
#undef FAMILY
};

struct Head {
  HeadKind kind;
  const char* suffix;
};

constexpr Head kHeads[] = {{HeadKind::kCausalLm, "ForCausalLM"},
                           {HeadKind::kSequenceClassification, "ForSequenceClassification"},
                           {HeadKind::kTokenClassification, "ForTokenClassification"}};

std::string class_name(const Family& family, HeadKind kind) {
  const bool is_other = kind != HeadKind::kCausalLm && family.head_stem != nullptr;
  const auto* head =
      std::find_if(std::begin(kHeads), std::end(kHeads), [&](const Head& each) { return each.kind == kind; });
  return std::string(is_other ? family.head_stem : family.stem) + head->suffix;
}

/// Two keys name the family.
void check_model_type(const ConfigReader& reader, const Family& family, const std::string& name) {
  if (!reader.has("model_type") || reader.at("model_type") == family.model_type) return;
  reader.fail("model_type",
              str("is ", reader.at("model_type").dump(), " and \"architectures\" names \"", name,
                  "\", whose model_type is \"", family.model_type, "\"; correct one of them"));
}

/// By the class name; without one, by model_type as a language model.
const Family& find_family(const ConfigReader& reader, DecoderConfig& config) {
  const bool has_class = reader.has("architectures") && reader.at("architectures").is_array() &&
                         !reader.at("architectures").empty();
  for (const Family* family : kFamilies) {
    for (const Head& head : kHeads) {
      const std::string name = class_name(*family, head.kind);
      const bool is_it = has_class ? reader.at("architectures")[0] == name
                                   : head.kind == HeadKind::kCausalLm && reader.has("model_type") &&
                                         reader.at("model_type") == family->model_type;
      if (!is_it) continue;
      check_model_type(reader, *family, name);
      config.architecture = name;
      config.head = head.kind;
      return *family;
    }
  }
  reader.fail("architectures", str(has_class ? "names " + reader.at("architectures")[0].dump() : "is missing",
                                   "; supported are ", Json(supported_architectures()).dump(),
                                   " and the same for SequenceClassification and TokenClassification"));
}

/// What would change the model is refused by name; noise while training is left aside, and said.
void check_unsupported(const ConfigReader& reader, DecoderConfig& config) {
  if (reader.has("quantization_config")) {
    reader.fail("quantization_config", "is set; load the unquantised model");
  }
  for (const char* key : {"attention_dropout", "router_jitter_noise", "classifier_dropout"}) {
    if (reader.number_or(key, 0.0) == 0.0) continue;
    config.notes.push_back(
        str("\"", key, "\" is left aside: sampler and trainer share one forward without noise"));
  }
}

Activation read_activation(const ConfigReader& reader) {
  // Gemma's files hold both keys; the longer one counts.
  const char* key = reader.has("hidden_activation") ? "hidden_activation" : "hidden_act";
  if (!reader.has(key)) return Activation::kSilu;
  const std::string name = reader.text(key);
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  reader.fail(key, str("is \"", name, "\"; supported are \"silu\" and \"gelu_pytorch_tanh\""));
}

void read_original_positions(const ConfigReader& rope, const ConfigReader& reader, int64_t max_positions,
                             RopeConfig& config) {
  const char* key = "original_max_position_embeddings";
  const bool has_scaled_length =
      config.rope_type == "llama3" || config.rope_type == "yarn" || config.rope_type == "longrope";
  int64_t fallback = has_scaled_length ? max_positions : 0;
  if (has_scaled_length && reader.has(key)) fallback = reader.integer(key, 1);
  config.original_max_position_embeddings = rope.integer_or(key, fallback, 1);
}

void read_yarn(const ConfigReader& rope, int64_t max_positions, RopeConfig& config) {
  const auto original = static_cast<double>(config.original_max_position_embeddings);
  config.factor = rope.number_or("factor", static_cast<double>(max_positions) / original);
  config.attention_factor = rope.number_or("attention_factor", 0.0);
  config.beta_fast = rope.number_or("beta_fast", 32.0);
  config.beta_slow = rope.number_or("beta_slow", 1.0);
  config.mscale = rope.number_or("mscale", 0.0);
  config.mscale_all_dim = rope.number_or("mscale_all_dim", 0.0);
  config.truncate = rope.flag_or("truncate", true);
}

void read_longrope(const ConfigReader& rope, int64_t max_positions, int64_t head_dim, RopeConfig& config) {
  const auto original = static_cast<double>(config.original_max_position_embeddings);
  config.factor = rope.number_or("factor", static_cast<double>(max_positions) / original);
  config.attention_factor = rope.number_or("attention_factor", 0.0);
  config.short_factor = rope.numbers("short_factor");
  config.long_factor = rope.numbers("long_factor");
  for (const char* key : {"short_factor", "long_factor"}) {
    const auto& factors = std::string(key) == "short_factor" ? config.short_factor : config.long_factor;
    if (static_cast<int64_t>(factors.size()) != head_dim / 2 ||
        std::any_of(factors.begin(), factors.end(), [](double f) { return !(f > 0.0); })) {
      rope.fail(key, str("must hold ", head_dim / 2, " positive numbers, one per two of head_dim"));
    }
  }
}

/// One entry of rope parameters; `theta` where it names none.
RopeConfig read_rope(const ConfigReader& rope, const ConfigReader& reader, double theta,
                     int64_t max_positions, int64_t head_dim) {
  RopeConfig config;
  const char* type_key = rope.has("rope_type") ? "rope_type" : "type";
  if (rope.has(type_key)) config.rope_type = rope.text(type_key);
  config.rope_theta = rope.number_or("rope_theta", theta);
  if (rope.number_or("partial_rotary_factor", 1.0) != 1.0) {
    rope.fail("partial_rotary_factor", "is not 1; only whole heads are rotated");
  }
  read_original_positions(rope, reader, max_positions, config);
  const std::string& type = config.rope_type;
  if (type == "linear" || type == "dynamic" || type == "llama3") config.factor = rope.number("factor");
  if (type == "llama3") {
    config.low_freq_factor = rope.number("low_freq_factor");
    config.high_freq_factor = rope.number("high_freq_factor");
    if (!(config.high_freq_factor > config.low_freq_factor)) {
      rope.fail("high_freq_factor", "must be more than low_freq_factor");
    }
  } else if (type == "yarn") {
    read_yarn(rope, max_positions, config);
  } else if (type == "longrope") {
    read_longrope(rope, max_positions, head_dim, config);
  } else if (type != "default" && type != "linear" && type != "dynamic") {
    rope.fail(type_key,
              str("is \"", type, "\"; supported are default, linear, dynamic, yarn, longrope, llama3"));
  }
  if (!(config.rope_theta > 0.0)) rope.fail("rope_theta", "must be positive");
  if (type != "default" && !(config.factor > 0.0)) rope.fail("factor", "must be positive");
  return config;
}

/// transformers 5 keeps all of it in rope_parameters, which some families key by layer type; transformers 4
/// in rope_theta and rope_scaling, with rope_local_base_freq for sliding layers.
void read_ropes(const ConfigReader& reader, DecoderConfig& config) {
  const double theta = reader.number_or("rope_theta", 10000.0);
  const double local_theta = reader.number_or("rope_local_base_freq", theta);
  const auto read = [&](const ConfigReader& rope, double base) {
    return read_rope(rope, reader, base, config.max_position_embeddings, config.head_dim);
  };
  const char* key = reader.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const ConfigReader rope = reader.has(key) ? reader.object(key) : reader.empty();
  const bool is_keyed = rope.has("full_attention") || rope.has("sliding_attention");
  const auto part = [&](const char* name) { return rope.has(name) ? rope.object(name) : reader.empty(); };
  config.ropes = {read(is_keyed ? part("full_attention") : rope, theta)};
  if (is_keyed || reader.has("rope_local_base_freq")) {
    config.ropes.push_back(read(is_keyed ? part("sliding_attention") : reader.empty(), local_theta));
  }
  config.context_length = config.max_position_embeddings;
  for (const RopeConfig& each : config.ropes) {
    config.context_length =
        std::max(config.context_length, allowed_positions(each, config.max_position_embeddings));
  }
}

void read_ids(const ConfigReader& reader, const char* key, std::vector<int32_t>& ids) {
  if (!reader.has(key)) return;
  const Json& value = reader.at(key);
  for (const Json& id : value.is_array() ? value : Json::array({value})) {
    const int64_t wide = id.is_number_integer() ? id.get<int64_t>() : -1;
    const auto number = static_cast<int32_t>(wide);
    if (wide < 0 || wide != number) reader.fail(key, "must be an id or a list of ids");
    if (std::find(ids.begin(), ids.end(), number) == ids.end()) ids.push_back(number);
  }
}

// Far above any model, and small enough that no product of three of them leaves 64 bits.
constexpr int64_t kMaxVocabulary = 1 << 24;
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxHeadDim = 1 << 14;

void read_shape(const ConfigReader& reader, DecoderConfig& config) {
  config.vocab_size = reader.integer("vocab_size", 1, kMaxVocabulary);
  config.hidden_size = reader.integer("hidden_size", 1, kMaxWidth);
  config.intermediate_size = reader.integer("intermediate_size", 1, kMaxWidth);
  config.num_hidden_layers = reader.integer("num_hidden_layers", 1, 10000);
  config.num_attention_heads = reader.integer("num_attention_heads", 1, 10000);
  config.num_key_value_heads = reader.integer_or("num_key_value_heads", config.num_attention_heads, 1);
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    reader.fail("num_key_value_heads", str("is ", config.num_key_value_heads, ", which does not divide ",
                                           config.num_attention_heads, " attention heads"));
  }
  config.head_dim = reader.has("head_dim") ? reader.integer("head_dim", 2, kMaxHeadDim)
                                           : config.hidden_size / config.num_attention_heads;
  if (config.head_dim < 2 || config.head_dim % 2 != 0) {
    reader.fail("head_dim", str("must be even and positive, is ", config.head_dim));
  }
  if (config.num_attention_heads * config.head_dim > kMaxWidth) {
    reader.fail("head_dim", str("is ", config.head_dim, ", which with ", config.num_attention_heads,
                                " heads is wider than ", kMaxWidth));
  }
  config.max_position_embeddings = reader.integer_or("max_position_embeddings", 2048, 1);
  config.layers.assign(config.num_hidden_layers, {});
}

void read_labels(const ConfigReader& reader, DecoderConfig& config) {
  if (config.head == HeadKind::kCausalLm) return;
  config.num_labels = 2;
  if (reader.has("id2label") && reader.at("id2label").is_object()) {
    config.num_labels = static_cast<int64_t>(reader.at("id2label").size());
  }
  if (reader.has("num_labels")) config.num_labels = reader.integer("num_labels", 1, kMaxWidth);
  config.head_bias =
      config.head == HeadKind::kTokenClassification && reader.flag_or("token_classification_bias", true);
  config.tie_word_embeddings = false;
}

/// The family's defaults under the file's keys.
Json with_defaults(const Json& raw, const Family& family) {
  Json merged = Json::parse(family.defaults);
  for (const auto& [key, value] : raw.items()) merged[key] = value;
  return merged;
}

fs::path config_path(const fs::path& model) {
  const fs::path model_dir = local_model(model);
  if (!fs::is_directory(model_dir)) {
    throw FileError(ENOENT, str(model.string(), ": no such model directory", download_advice(model)));
  }
  return model_dir / "config.json";
}

/// generation_config.json's stop ids count where there is one.
void read_generation_stops(const fs::path& model_dir, DecoderConfig& config) {
  const fs::path path = local_model(model_dir) / "generation_config.json";
  if (!fs::exists(path)) return;
  const Json raw = read_json(path);
  read_ids(ConfigReader(raw, path), "eos_token_id", config.eos_token_ids);
}

}  // namespace

std::vector<std::string> supported_architectures() {
  std::vector<std::string> names;
  for (const Family* family : kFamilies) names.push_back(std::string(family->stem) + kHeads[0].suffix);
  return names;
}

DecoderConfig parse_decoder_config(const Json& raw, const fs::path& path) {
  DecoderConfig config;
  const Family& family = find_family(ConfigReader(raw, path), config);
  const Json merged = with_defaults(raw, family);
  const ConfigReader reader(merged, path);
  check_unsupported(reader, config);
  config.raw = raw;
  config.names = family.names;
  read_shape(reader, config);
  config.rms_norm_eps = reader.positive_or("rms_norm_eps", 1e-6);
  config.initializer_range = reader.number_or("initializer_range", 0.02);
  if (config.initializer_range < 0.0) reader.fail("initializer_range", "must not be negative");
  config.tie_word_embeddings = reader.flag_or("tie_word_embeddings", false);
  config.activation = read_activation(reader);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  read_ropes(reader, config);
  family.read(reader, config);
  read_labels(reader, config);
  read_ids(reader, "eos_token_id", config.eos_token_ids);
  read_ids(reader, "pad_token_id", config.pad_token_ids);
  return config;
}

Json config_with_head(const Json& raw, const fs::path& path, HeadKind head, int64_t num_labels) {
  DecoderConfig ignored;
  const ConfigReader reader(raw, path);
  const Family& family = find_family(reader, ignored);
  if (head == HeadKind::kTokenClassification && !family.has_token_head) {
    reader.fail("model_type", str("is ", family.model_type, ", for which transformers has no class ",
                                  family.head_stem, "ForTokenClassification"));
  }
  Json config = raw;
  config["architectures"] = {class_name(family, head)};
  config["model_type"] = family.model_type;
  config.erase("num_labels");
  config["id2label"] = Json::object();
  config["label2id"] = Json::object();
  for (int64_t label = 0; label < num_labels; ++label) {
    const std::string name = str("LABEL_", label);
    config["id2label"][std::to_string(label)] = name;
    config["label2id"][name] = label;
  }
  return config;
}

std::optional<int64_t> find_label(const DecoderConfig& config, const std::string& label) {
  const auto names = config.raw.find("id2label");
  const bool has_names = names != config.raw.end() && names->is_object();
  for (int64_t i = 0; i < config.num_labels; ++i) {
    const std::string number = std::to_string(i);
    if (label == number || (has_names && names->value(number, Json()) == label)) return i;
  }
  return std::nullopt;
}

DecoderConfig read_decoder_config(const fs::path& model_dir) {
  require_whole_model(model_dir);
  const fs::path path = config_path(model_dir);
  DecoderConfig config = parse_decoder_config(read_json(path), path);
  read_generation_stops(model_dir, config);
  return config;
}

ConfigReport inspect_decoder_config(const fs::path& model_dir) {
  const fs::path path = config_path(model_dir);
  Json raw = read_json(path);
  ConfigReport report;
  std::set<std::string> refused;
  for (;;) {
    try {
      report.config = parse_decoder_config(raw, path);
      read_generation_stops(model_dir, *report.config);
      return report;
    } catch (const ConfigKeyError& error) {
      const std::string& key = error.outermost_key();
      // Without a key that was refused, it is missing: the first message is the one that helps.
      if (refused.insert(key).second) report.unsupported.emplace_back(error.what());
      if (raw.erase(key) == 0) return report;
    }
  }
}

}  // namespace cohort
