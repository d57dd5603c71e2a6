// How a model's generation_config.json would have it sampled, for the commands that follow it.
#include <limits>

#include "apps/cli/generation.h"
#include "cohort/core/error.h"
#include "cohort/core/json.h"

namespace cohort::cli {
namespace {

class DefaultsReader {
 public:
  explicit DefaultsReader(std::filesystem::path path) : path_(std::move(path)), config_(read_json(path_)) {
    if (!config_.is_object()) throw FormatError(str(path_.string(), ": must hold a JSON object"));
  }

  bool is_greedy() const {
    return config_.contains("do_sample") && config_.at("do_sample").is_boolean() &&
           !config_.at("do_sample").get<bool>();
  }

  /// Sets `value` where the file has a number for it, which must lie within `limits`.
  template <typename Value>
  void take(const char* key, Value& value, const Limits& limits) const {
    if (!config_.contains(key) || config_.at(key).is_null()) return;
    const Json& given = config_.at(key);
    const bool fits = std::is_integral_v<Value> ? given.is_number_integer() : given.is_number();
    if (!fits || !limits.contains(given.get<double>())) {
      throw FormatError(str(path_.string(), ": \"", key, "\" is ", to_json_text(given), ", but must be ",
                            limits.describe()));
    }
    value = given.get<Value>();
  }

 private:
  std::filesystem::path path_;
  Json config_;
};

}  // namespace

void take_sampling_defaults(const std::string& model_dir, GenerationConfig& config) {
  const std::filesystem::path path = std::filesystem::path(model_dir) / "generation_config.json";
  if (model_dir.empty() || !std::filesystem::exists(path)) return;
  const DefaultsReader defaults(path);
  if (defaults.is_greedy()) {
    config.temperature = 0.0;
    return;
  }
  defaults.take("temperature", config.temperature, at_least(0.0));
  defaults.take("top_k", config.top_k, at_least(0));
  defaults.take("top_p", config.top_p, above_up_to(0.0, 1.0));
  defaults.take("min_p", config.min_p, between(0.0, 1.0));
  defaults.take("repetition_penalty", config.repetition_penalty, above(0.0));
}

std::string sampling_text(const GenerationConfig& config) {
  std::string text = str("temperature ", config.temperature);
  if (config.top_k > 0) text += str(", top_k ", config.top_k);
  if (config.top_p < 1.0) text += str(", top_p ", config.top_p);
  if (config.repetition_penalty != 1.0) text += str(", repetition_penalty ", config.repetition_penalty);
  if (config.min_p > 0.0) text += str(", min_p ", config.min_p);
  return text;
}

}  // namespace cohort::cli
