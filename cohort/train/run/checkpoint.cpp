#include "cohort/train/run/checkpoint.h"

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/tensor/safetensors.h"

namespace cohort {

namespace fs = std::filesystem;

namespace {

void restore_weights(const SafetensorsFile& file, const NamedTensors& weights) {
  for (const auto& [name, weight] : weights) {
    const at::Tensor saved = file.tensor(name);
    if (saved.sizes() != weight.sizes()) {
      throw FormatError(cohort::str(file.path().string(), ": tensor \"", name, "\" is ", saved.sizes(),
                                    ", the model's is ", weight.sizes()));
    }
    weight.copy_(saved);
  }
}

fs::path weights_of(const fs::path& directory, const TrainedPart& part) {
  const fs::path earlier = directory / (part.prefix + "weights.safetensors");
  return fs::exists(earlier) ? earlier : directory / (part.prefix + part.weight_file);
}

}  // namespace

void save_checkpoint(const fs::path& temporary, const fs::path& final, const std::vector<TrainedPart>& parts,
                     const Json& state, const std::function<void(const fs::path&)>& add_files) {
  retire_directory(temporary);
  fs::create_directories(temporary);
  Json whole = state;
  for (const TrainedPart& part : parts) {
    const fs::path weights = temporary / (part.prefix + part.weight_file);
    fs::create_directories(weights.parent_path());
    write_safetensors(weights, part.weights);
    if (part.optimizer == nullptr) continue;
    write_safetensors(temporary / (part.prefix + "optimizer.safetensors"), part.optimizer->save());
    whole[part.prefix + "num_updates"] = part.optimizer->num_updates();
  }
  if (add_files) add_files(temporary);
  write_json(temporary / "state.json", whole);
  publish_directory(temporary, final);
}

Json load_checkpoint(const fs::path& directory, const std::vector<TrainedPart>& parts) {
  const at::NoGradGuard no_grad;
  Json state = read_json(directory / "state.json");
  for (const TrainedPart& part : parts) {
    restore_weights(SafetensorsFile(weights_of(directory, part)), part.weights);
    if (part.optimizer == nullptr) continue;
    part.optimizer->load(SafetensorsFile(directory / (part.prefix + "optimizer.safetensors")),
                         state.at(part.prefix + "num_updates").get<int64_t>());
  }
  return state;
}

}  // namespace cohort
