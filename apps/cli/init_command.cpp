// cohort init: a model with random weights.
#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/models/pretrained.h"
#include "cohort/sampler/model_tokenizer.h"

namespace cohort::cli {
namespace {

namespace fs = std::filesystem;

struct InitConfig {
  std::string config, tokenizer, output;
  std::string dtype = "float32";
  int64_t seed = 0;

  void describe(FieldVisitor& f) {
    f("config", config, "The config.json of the model to make; required.");
    f("tokenizer", tokenizer, "Directory with the tokenizer's files, which are copied; required.");
    f("output", output, "New directory for the model; required.");
    f("dtype", dtype, "Dtype of the weight file.", one_of({"float32", "bfloat16"}));
    f("seed", seed, "The weights are a pure function of it.", at_least(0));
  }
};

/// Without a final slash: a directory's neighbours are named after it.
fs::path output_directory(const std::string& output) {
  const fs::path path(output);
  if (fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path))) {
    throw ConfigError(str("--output ", output, ": exists already; name a new directory"));
  }
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

int init_command(const Command& self, const Arguments& arguments) {
  InitConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.config, "config");
  require(config.tokenizer, "tokenizer");
  require(config.output, "output");
  const fs::path output = output_directory(config.output);
  const DecoderConfig shape = parse_decoder_config(read_json(config.config), config.config);
  if (!read_tokenizer(config.tokenizer, shape))
    throw FormatError(str(config.tokenizer, ": has no tokenizer.json"));
  const Decoder decoder(shape, parse_dtype(config.dtype), at::kCPU, static_cast<uint64_t>(config.seed));
  save_pretrained(decoder, config.tokenizer, output);
  return 0;
}

}  // namespace cohort::cli
