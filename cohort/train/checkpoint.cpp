#include "cohort/train/checkpoint.h"

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/tensor/safetensors.h"

namespace cohort {

namespace fs = std::filesystem;

void save_checkpoint(const fs::path& temporary, const fs::path& final, const Decoder& decoder,
                     const AdamW& optimizer, const Json& state) {
  retire_directory(temporary);
  fs::create_directories(temporary);
  write_safetensors(temporary / "weights.safetensors", decoder.trained_weights());
  write_safetensors(temporary / "optimizer.safetensors", optimizer.save());
  Json whole = state;
  whole["num_updates"] = optimizer.num_updates();
  write_json(temporary / "state.json", whole);
  publish_directory(temporary, final);
}

Json load_checkpoint(const fs::path& directory, Decoder& decoder, AdamW& optimizer) {
  const at::NoGradGuard no_grad;
  Json state = read_json(directory / "state.json");
  const SafetensorsFile weights(directory / "weights.safetensors");
  for (const auto& [name, weight] : decoder.trained_weights()) {
    const at::Tensor saved = weights.tensor(name);
    if (saved.sizes() != weight.sizes()) {
      throw FormatError(cohort::str(weights.path().string(), ": tensor \"", name, "\" is ", saved.sizes(),
                                    ", the model's is ", weight.sizes()));
    }
    weight.copy_(saved);
  }
  optimizer.load(SafetensorsFile(directory / "optimizer.safetensors"),
                 state.at("num_updates").get<int64_t>());
  decoder.refresh();
  return state;
}

}  // namespace cohort
