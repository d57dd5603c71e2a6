// Writes the gradient of the mean log-probability of given completions by every weight, under its Hugging
// Face name: mean_logprob_gradients MODEL_DIR ROWS.jsonl OUT_DIR. For comparison with other libraries.
#include <iostream>

#include "cohort/core/error.h"
#include "cohort/core/jsonl_reader.h"
#include "cohort/models/pretrained.h"
#include "cohort/tensor/weight_files.h"
#include "cohort/train/run/packing.h"

namespace cohort {
namespace {

/// The gradient of the part of a leaf that `weight` is a view of.
at::Tensor gradient_of(const Decoder& decoder, const at::Tensor& weight) {
  for (const at::Tensor& leaf : decoder.parameters()) {
    if (leaf.storage().data() != weight.storage().data()) continue;
    return leaf.grad().as_strided(weight.sizes(), weight.strides(), weight.storage_offset()).contiguous();
  }
  throw InternalError("a weight belongs to no parameter");
}

void write_gradients(const std::string& model_dir, const std::string& rows_path, const std::string& out_dir) {
  const auto decoder = load_pretrained(model_dir, at::kFloat, at::kCPU);
  for (const at::Tensor& leaf : decoder->parameters()) leaf.mutable_grad() = at::zeros_like(leaf.detach());
  std::vector<std::vector<int32_t>> prompts;
  std::vector<Completion> completions;
  int64_t longest = 0;
  for (JsonlReader rows(rows_path); rows.next();) {
    const Json row = rows.row();
    prompts.push_back(row.at("prompt_ids").get<std::vector<int32_t>>());
    completions.emplace_back();
    completions.back().token_ids = row.at("completion_ids").get<std::vector<int32_t>>();
    longest = std::max<int64_t>(longest, prompts.back().size() + completions.back().token_ids.size());
  }
  decoder->plan_length(longest);
  std::vector<PackGroup> groups;
  for (size_t i = 0; i < prompts.size(); ++i) groups.push_back({&prompts[i], {&completions[i]}});
  const auto batch = pack(groups, at::kCPU);
  packed_logprobs(*decoder, *batch, 1.0).logprobs.mean().backward();
  NamedTensors gradients;
  for (const auto& [name, weight] : decoder->named_weights()) {
    gradients.emplace_back(name, gradient_of(*decoder, weight));
  }
  std::filesystem::create_directories(out_dir);
  write_weights(out_dir, gradients);
}

}  // namespace
}  // namespace cohort

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: mean_logprob_gradients MODEL_DIR ROWS.jsonl OUT_DIR\n";
    return 2;
  }
  try {
    cohort::write_gradients(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
