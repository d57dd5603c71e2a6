// cohort tokenize: text to token ids, line by line.
#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/rows.h"
#include "cohort/text/tokenizer.h"

namespace cohort::cli {
namespace {

struct TokenizeConfig {
  std::string model;
  bool offsets = false;
  bool no_special_tokens = false;

  void describe(FieldVisitor& f) {
    f("model", model, "Directory with a tokenizer.json; required.");
    f("offsets", offsets, "Also say where each token stands in the text, in code points.");
    f("no_special_tokens", no_special_tokens, "Do not put the tokenizer's own tokens around the text.");
  }
};

Json offsets_json(const std::vector<CodePointSpan>& offsets) {
  Json out = Json::array();
  for (const CodePointSpan& span : offsets) out.push_back(Json::array({span.begin, span.end}));
  return out;
}

}  // namespace

int tokenize_command(const Command& self, const Arguments& arguments) {
  TokenizeConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.model, "model");
  const Tokenizer tokenizer = Tokenizer::from_directory(config.model);
  const EncodeOptions options = {.add_special_tokens = !config.no_special_tokens};
  for_each_row(std::cin, "<stdin>", [&](const Json& row, const std::string& where) {
    const std::string text = read_string(row, "text", where);
    Json result;
    if (config.offsets) {
      const Encoding encoding = tokenizer.encode_with_offsets(text, options);
      result = {{"ids", encoding.ids}, {"offsets", offsets_json(encoding.offsets)}};
    } else {
      result = {{"ids", tokenizer.encode(text, options)}};
    }
    std::cout << to_json_text(result) << "\n";
  });
  return 0;
}

}  // namespace cohort::cli
