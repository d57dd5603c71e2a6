// Encodes a file of texts again and again, for bench/tokenizer_speed.py.
//   bench_tokenizer_speed MODEL_DIR TEXTS.jsonl [--offsets]
// Each line of standard input asks for one pass; the answer is a line with its seconds and the number of
// tokens.
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/jsonl_reader.h"
#include "cohort/text/tokenizer.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "tokenizer_speed MODEL_DIR TEXTS.jsonl [--offsets]\n";
    return 2;
  }
  try {
    const cohort::Tokenizer tokenizer = cohort::Tokenizer::from_directory(argv[1]);
    std::vector<std::string> texts;
    for (const cohort::Json& row : cohort::read_rows(argv[2]))
      texts.push_back(row.at("text").get<std::string>());
    const bool with_offsets = argc > 3 && std::string(argv[3]) == "--offsets";
    for (std::string line; std::getline(std::cin, line);) {
      size_t num_tokens = 0;
      const auto start = std::chrono::steady_clock::now();
      for (const std::string& text : texts) {
        num_tokens +=
            with_offsets ? tokenizer.encode_with_offsets(text).ids.size() : tokenizer.encode(text).size();
      }
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      std::cout << seconds.count() << " " << num_tokens << std::endl;
    }
  } catch (const cohort::UserError& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  return 0;
}
