// cohort tokenize: text to token ids, line by line.
#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/rows.h"
#include "cohort/text/tokenizer.h"

namespace cohort::cli {
namespace {

struct TokenizeConfig {
  std::string model;
  EncodeOptions options;

  void describe(FieldVisitor& f) {
    f("model", model, "Directory with a tokenizer.json; required.");
    f("add_special_tokens", options.add_special_tokens, "Put the tokenizer's own tokens around the text.");
  }
};

}  // namespace

int tokenize_command(const Command& self, const Arguments& arguments) {
  TokenizeConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.model, "model");
  const Tokenizer tokenizer = Tokenizer::from_directory(config.model);
  for_each_row(std::cin, "<stdin>", [&](const Json& row, const std::string& where) {
    const Json result = {{"ids", tokenizer.encode(read_string(row, "text", where), config.options)}};
    std::cout << to_json_text(result) << "\n";
  });
  return 0;
}

}  // namespace cohort::cli
