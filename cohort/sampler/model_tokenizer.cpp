#include "cohort/sampler/model_tokenizer.h"

#include "cohort/core/error.h"
#include "cohort/core/local_model.h"

namespace cohort {

std::unique_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& model_dir,
                                                const DecoderConfig& config) {
  const std::filesystem::path file = local_model(model_dir) / "tokenizer.json";
  if (!std::filesystem::exists(file)) return nullptr;
  auto tokenizer = std::make_unique<const Tokenizer>(Tokenizer::from_directory(model_dir));
  if (tokenizer->vocab_size() > config.vocab_size) {
    throw FormatError(str(file.string(), ": has ids up to ", tokenizer->vocab_size() - 1,
                          ", but the model's vocab_size is ", config.vocab_size,
                          "; the files belong to different models"));
  }
  return tokenizer;
}

}  // namespace cohort
