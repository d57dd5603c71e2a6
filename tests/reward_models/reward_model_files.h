// Small reward models with the demo's tokenizer, on disk.
#pragma once

#include <filesystem>
#include <string>

#include "cohort/models/pretrained.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {

inline const std::filesystem::path kDemoFiles = COHORT_SOURCE_DIR "/recipes/demo";

/// A folder with the demo's tokenizer; `change` is put in front of its tokenizer.json, blanks for example.
inline std::filesystem::path write_tokenizer(const std::filesystem::path& folder,
                                             const std::string& change = "") {
  std::filesystem::create_directories(folder);
  write_text(folder / "tokenizer.json", change + read_text(kDemoFiles / "tokenizer.json"));
  write_text(folder / "tokenizer_config.json", read_text(kDemoFiles / "tokenizer_config.json"));
  return folder;
}

/// A random model with a head, with the tokenizer of `tokenizer_dir`.
inline std::filesystem::path write_reward_model(const std::filesystem::path& folder,
                                                const std::filesystem::path& tokenizer_dir, HeadKind head,
                                                int64_t num_labels, uint64_t seed = 1) {
  Json config = tiny_config("Qwen3ForCausalLM");
  config["vocab_size"] = 420;
  config["eos_token_id"] = 0;
  const auto decoder =
      tiny_decoder(config_with_head(config, "config.json", head, num_labels), at::kFloat, seed);
  save_pretrained(*decoder, tokenizer_dir, folder);
  return folder;
}

}  // namespace cohort
