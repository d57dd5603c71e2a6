#include "cohort/train/run/generation_defaults.h"

#include "cohort/core/json.h"
#include "cohort/core/local_model.h"
#include "cohort/core/log.h"

namespace cohort {

std::string ignored_sampling_defaults(const std::filesystem::path& model_dir) {
  const std::filesystem::path path = local_model(model_dir) / "generation_config.json";
  if (!std::filesystem::exists(path)) return "";
  const Json config = read_json(path);
  std::string text;
  for (const char* key : {"do_sample", "temperature", "top_k", "top_p", "min_p", "typical_p",
                          "epsilon_cutoff", "eta_cutoff", "repetition_penalty", "no_repeat_ngram_size",
                          "num_beams", "length_penalty", "max_length", "max_new_tokens"}) {
    if (!config.is_object() || !config.contains(key) || config.at(key).is_null()) continue;
    text += (text.empty() ? "" : ", ") + std::string(key) + " " + to_json_text(config.at(key));
  }
  return text;
}

void log_ignored_sampling_defaults(const std::filesystem::path& model_dir) {
  const std::string ignored = ignored_sampling_defaults(model_dir);
  if (!ignored.empty())
    log_info((model_dir / "generation_config.json").string(), ": ignored beside its stop ids: ", ignored);
}

}  // namespace cohort
