// cohort detokenize: token ids to text, line by line.
#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/rows.h"
#include "cohort/core/error.h"
#include "cohort/models/decoder_config.h"
#include "cohort/text/tokenizer.h"

namespace cohort::cli {
namespace {

struct DetokenizeConfig {
  std::string model;
  DecodeOptions options{.skip_special_tokens = false};

  void describe(FieldVisitor& f) {
    f("model", model, "Directory with a tokenizer.json; required.");
    f("skip_special_tokens", options.skip_special_tokens, "Leave out tokens that are marked special.");
  }
};

/// A model may have more ids than its tokenizer; those have no text.
int64_t vocabulary_of(const std::string& model_dir, const Tokenizer& tokenizer) {
  const bool has_config = std::filesystem::exists(std::filesystem::path(model_dir) / "config.json");
  return has_config ? read_decoder_config(model_dir).vocab_size : tokenizer.vocab_size();
}

}  // namespace

int detokenize_command(const Command& self, const Arguments& arguments) {
  DetokenizeConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.model, "model");
  const Tokenizer tokenizer = Tokenizer::from_directory(config.model);
  const int64_t vocabulary = vocabulary_of(config.model, tokenizer);
  for_each_row(std::cin, "<stdin>", [&](const Json& row, const std::string& where) {
    const std::vector<int32_t> ids = read_ids(row, "ids", where);
    for (const int32_t id : ids) {
      if (id >= vocabulary)
        throw FormatError(str(where, ": id ", id, " lies outside the vocabulary of ", vocabulary));
    }
    std::cout << to_json_text({{"text", tokenizer.decode(ids, config.options)}}) << "\n";
  });
  return 0;
}

}  // namespace cohort::cli
