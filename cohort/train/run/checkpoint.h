// A checkpoint: a Hugging Face or PEFT directory with float32 weights, and beside it the optimizer's moments
// and everything else that a step depends on.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/dist/group.h"
#include "cohort/tensor/safetensors.h"
#include "cohort/train/run/optimizer.h"

namespace cohort {

/// Weights that a run changes, with what optimises them; null where they follow others. The names of their
/// files and of their count of updates begin with `prefix`, which is empty for the model's own. It may end
/// with a "/": their files are in a folder.
struct TrainedPart {
  std::string prefix;
  NamedTensors weights;
  AdamW* optimizer;
  std::string weight_file = "weights.safetensors";
};

/// Writes the weights (float32 masters) and `optimizer.safetensors` of each part, `state.json` and what
/// `add_files` adds into the new directory `temporary` and publishes it as `final`: complete or not there.
/// Several processes call it together. Each writes a share of the moments, and of weights whose masters are
/// shared out, into a file of its own, with an index; the first one writes the rest.
void save_checkpoint(const std::filesystem::path& temporary, const std::filesystem::path& final,
                     const std::vector<TrainedPart>& parts, const Json& state,
                     const std::function<void(const std::filesystem::path&)>& add_files = {},
                     dist::Group& processes = dist::alone());

/// Restores weights and optimizers and returns the state, for any number of processes; packed copies of
/// weights are the caller's to refresh. Weights that earlier versions wrote as `weights.safetensors` are
/// read, too. Throws FormatError naming what is missing or does not fit.
Json load_checkpoint(const std::filesystem::path& directory, const std::vector<TrainedPart>& parts);

}  // namespace cohort
