#include "cohort/reward_models/reward_text.h"

#include <fstream>
#include <iterator>

#include "cohort/core/error.h"
#include "cohort/sampler/model_tokenizer.h"
#include "cohort/sampler/stop_ids.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

std::string file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The messages that come before the completion; null for a plain prompt.
const Json* find_messages(const Prompt& prompt) {
  for (const char* key : {"prompt_messages", "prompt"}) {
    const auto found = prompt.fields.find(key);
    if (found != prompt.fields.end() && found->is_array() && !found->empty()) return &*found;
  }
  return nullptr;
}

/// The conversation as a data set's row has it.
Row conversation_row(const Prompt& prompt, const Json& messages, const std::string& completion) {
  Row row{prompt.fields, prompt.id, prompt.id};
  row.columns["prompt"] = messages;
  row.columns["completion"] = Json::array({{{"role", "assistant"}, {"content", completion}}});
  return row;
}

}  // namespace

RewardText::RewardText(const fs::path& model_dir, const DecoderConfig& model, const JudgedPolicy& policy)
    : tokenizer_(read_tokenizer(model_dir, model)), shares_ids_(false) {
  if (tokenizer_ == nullptr) {
    throw FormatError(str(model_dir.string(), ": has no tokenizer.json, which a reward model needs"));
  }
  const fs::path file = "tokenizer.json";
  if (!policy.model_dir.empty()) {
    shares_ids_ = file_bytes(policy.model_dir / file) == file_bytes(model_dir / file);
    if (!shares_ids_)
      policy_tokenizer_ = std::make_unique<const Tokenizer>(Tokenizer::from_directory(policy.model_dir));
  }
  format_ = text_format(*tokenizer_, model_dir, policy.now);
  end_id_ = end_token_id(model, *tokenizer_);
}

const Tokenizer* RewardText::policy_tokenizer() const {
  return shares_ids_ ? tokenizer_.get() : policy_tokenizer_.get();
}

ShownText RewardText::show(const Prompt& prompt, const Completion& completion) const {
  ShownText shown;
  const Json* messages = find_messages(prompt);
  if (shares_ids_) {
    shown = {prompt.token_ids, completion.token_ids};
    return shown;
  }
  // What the policy spells is text: its own special tokens are not in it.
  const std::string text = tokenizer_->without_special_tokens(completion.text);
  if (messages != nullptr) {
    PromptCompletion pair = to_prompt_completion(conversation_row(prompt, *messages, text), format_);
    shown = {std::move(pair.prompt_ids), std::move(pair.completion_ids)};
  } else {
    shown = {prompt.text.empty() ? std::vector<int32_t>() : format_.tokenize(prompt.text),
             format_.tokenize_rendered(text)};
    if (completion.finish_reason == FinishReason::kStop && end_id_) shown.completion_ids.push_back(*end_id_);
  }
  return shown;
}

}  // namespace cohort
