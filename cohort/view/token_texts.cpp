#include "cohort/view/token_texts.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/local_model.h"
#include "cohort/text/incremental_detokenizer.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

const DecodeOptions kWithSpecialTokens{.skip_special_tokens = false};

/// Which tokens are injected.
std::vector<bool> injected_tokens(const Json& row, size_t count) {
  std::vector<bool> injected(count, false);
  const auto spans = row.find("injected");
  if (spans == row.end()) return injected;
  for (const Json& span : *spans) {
    const auto first = span.at(0).get<size_t>(), size = span.at(1).get<size_t>();
    if (first > count || size > count - first)
      throw FormatError("the line's injected spans end after its tokens");
    std::fill_n(injected.begin() + static_cast<int64_t>(first), size, true);
  }
  return injected;
}

/// A column of the line that has a value for each sampled token, or for each token.
class TokenColumn {
 public:
  TokenColumn(const Json& row, const char* name, size_t num_tokens, size_t num_sampled) {
    const auto found = row.find(name);
    if (found == row.end() || !found->is_array() || found->empty()) return;
    values_ = &*found;
    is_of_all_ = values_->size() == num_tokens;
    if (!is_of_all_ && values_->size() != num_sampled)
      throw FormatError(
          str("the line has ", values_->size(), " values in ", name, " for ", num_sampled, " tokens"));
  }

  bool exists() const { return values_ != nullptr; }

  std::optional<double> at(size_t token, size_t sampled) const {
    const Json& value = values_->at(is_of_all_ ? token : sampled);
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }

 private:
  const Json* values_ = nullptr;
  bool is_of_all_ = false;
};

void set_texts(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::vector<TokenText>& tokens) {
  const bool is_whole = tokenizer.decoder().shape().kind == TokenDecoderShape::Kind::kWhole;
  IncrementalDetokenizer detokenizer(tokenizer, kWithSpecialTokens);
  for (size_t i = 0; i < ids.size(); ++i)
    tokens[i].text = is_whole ? tokenizer.token(ids[i]).value_or("") : detokenizer.push(ids[i]);
  if (!is_whole && !tokens.empty()) tokens.back().text += detokenizer.finish();
}

bool has_tokenizer(const fs::path& directory) {
  std::error_code none;
  return fs::is_regular_file(directory / "tokenizer.json", none);
}

/// Directories that may hold the tokenizer, the most likely first.
std::vector<fs::path> candidates(const fs::path& run, const Json& recipe) {
  std::vector<fs::path> found{run / "final", run / "final" / "defender", run / "best"};
  std::vector<fs::path> checkpoints;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints", none))
    checkpoints.push_back(entry.path());
  std::ranges::sort(checkpoints, std::greater<>());
  for (const fs::path& checkpoint : checkpoints) {
    found.push_back(checkpoint);
    found.push_back(checkpoint / "defender");
  }
  const auto model = recipe.find("model");
  if (model != recipe.end() && model->is_object() && model->contains("path") && model->at("path").is_string())
    found.push_back(local_model(model->at("path").get<std::string>()));
  return found;
}

}  // namespace

std::vector<TokenText> token_texts(const Tokenizer& tokenizer, const Json& row) {
  const auto ids = row.at("completion_ids").get<std::vector<int32_t>>();
  std::vector<TokenText> tokens(ids.size());
  set_texts(tokenizer, ids, tokens);
  const std::vector<bool> injected = injected_tokens(row, ids.size());
  const auto num_sampled = static_cast<size_t>(std::ranges::count(injected, false));
  const TokenColumn logprobs(row, "logprobs", ids.size(), num_sampled);
  const TokenColumn advantages(row, "token_advantages", ids.size(), num_sampled);
  const auto own = row.find("advantage");
  const auto advantage =
      own != row.end() && own->is_number() ? std::optional(own->get<double>()) : std::nullopt;
  for (size_t i = 0, sampled = 0; i < ids.size(); ++i) {
    tokens[i].is_injected = injected[i];
    if (injected[i]) continue;
    if (logprobs.exists()) tokens[i].logprob = logprobs.at(i, sampled);
    tokens[i].advantage = advantages.exists() ? advantages.at(i, sampled) : advantage;
    ++sampled;
  }
  return tokens;
}

Json to_json(const TokenText& token) {
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  return {{"text", token.text},
          {"logprob", number(token.logprob)},
          {"advantage", number(token.advantage)},
          {"injected", token.is_injected}};
}

const Tokenizer* RunTokenizer::find(const Json& recipe) {
  if (tokenizer_ != nullptr) return tokenizer_.get();
  problem_ = str(run_.string(), ": neither the run nor model.path has a tokenizer.json");
  for (const fs::path& directory : candidates(run_, recipe)) {
    if (!has_tokenizer(directory)) continue;
    try {
      tokenizer_ = std::make_unique<Tokenizer>(Tokenizer::from_directory(directory));
      problem_.clear();
      return tokenizer_.get();
    } catch (const UserError& error) {
      problem_ = error.what();
    }
  }
  return nullptr;
}

}  // namespace cohort
