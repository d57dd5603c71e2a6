// The models and rows of whole runs, for tests; all in the working directory.
#pragma once

#include <filesystem>
#include <string>

#include "cohort/core/json.h"
#include "cohort/models/pretrained.h"
#include "tests/core/test_files.h"

namespace cohort {

/// A random model with the tokenizer of the demo.
inline void write_random_model(const std::string& name, const char* architecture, uint64_t seed) {
  const Json config = {
      {"architectures", {architecture}}, {"vocab_size", 384},           {"hidden_size", 32},
      {"intermediate_size", 32},         {"num_hidden_layers", 2},      {"num_attention_heads", 2},
      {"num_key_value_heads", 1},        {"num_local_experts", 4},      {"num_experts_per_tok", 2},
      {"max_position_embeddings", 256},  {"tie_word_embeddings", true}, {"eos_token_id", 0},
      {"initializer_range", 0.1}};
  const Decoder decoder(parse_decoder_config(config, name), at::kFloat, at::kCPU, seed);
  save_pretrained(decoder, std::filesystem::path(COHORT_SOURCE_DIR) / "recipes" / "demo", name);
}

/// Two rows are alike, one is long; half of the answers are no numbers.
inline void write_row_files() {
  std::string rows, others, unjudged, conversations;
  const auto add = [](std::string& file, const Json& row) { file += row.dump() + "\n"; };
  for (const char letter : std::string("abcdefghijkda")) {
    const std::string text(1 + letter % 4, letter);
    const std::string answer = letter % 2 == 0 ? "7" : "none";
    add(rows, {{"prompt", text}, {"question", "Is it " + text + "?"}, {"answer", answer}});
    add(others, {{"prompt", text + "z"}, {"question", text}, {"answer", answer}});
    add(unjudged, {{"prompt", text}, {"answer", "none"}});
    add(conversations, {{"prompt", {{{"role", "user"}, {"content", text}}}}, {"answer", answer}});
  }
  add(rows, {{"prompt", std::string(40, 'w')}, {"question", "long"}, {"answer", "1"}});
  write_text("rows.jsonl", rows);
  write_text("others.jsonl", others);
  write_text("unjudged.jsonl", unjudged);
  write_text("conversations.jsonl", conversations);
}

}  // namespace cohort
