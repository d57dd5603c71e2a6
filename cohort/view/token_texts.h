// The tokens of a completion as texts with what the run recorded of each.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// A token of a completion.
struct TokenText {
  std::string text{};                 ///< empty for a part of a character, which a token after it shows whole
  std::optional<double> logprob{};    ///< none for an injected token
  std::optional<double> advantage{};  ///< none for an injected token, and for a completion without one
  bool is_injected = false;
};

/// The tokens of a line of completions.jsonl. Texts joined are the decoded completion with its special
/// tokens. Throws FormatError for a line whose columns do not fit together.
std::vector<TokenText> token_texts(const Tokenizer& tokenizer, const Json& row);

Json to_json(const TokenText& token);

/// Finds and keeps the tokenizer of a run.
class RunTokenizer {
 public:
  /// `run`: the run's directory; `recipe`: its config.toml.
  explicit RunTokenizer(std::filesystem::path run) : run_(std::move(run)) {}

  /// The tokenizer of final/, else of the newest checkpoint, else of model.path; null if none can be read,
  /// and `problem()` then says why.
  const Tokenizer* find(const Json& recipe);

  const std::string& problem() const { return problem_; }

 private:
  std::filesystem::path run_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::string problem_;
};

}  // namespace cohort
