// From a data set's row to text and token ids, in TRL's formats: `prompt` (and `completion`) as a string or
// as a list of messages, or `messages` alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

/// One row with its columns under the names that the program knows.
struct Row {
  Json columns;
  std::string id;     ///< unique in its data set: "FILE:LINE"
  std::string where;  ///< the same with the path as it was given, for messages
};

/// What a chat template is asked for.
struct RenderOptions {
  bool add_generation_prompt = false;   ///< end with the opening of the assistant's turn
  bool continue_final_message = false;  ///< leave the last message open
  Json tools;                           ///< the row's column, or null
  Json chat_template_kwargs;            ///< the row's column, or null
};

/// The text of a conversation under the model's chat template. Throws UserError for what the template
/// refuses.
using Render = std::function<std::string(const Json& messages, const RenderOptions& options)>;

using Tokenize = std::function<std::vector<int32_t>(const std::string&)>;

/// How text becomes ids. Calls may come from several threads.
struct TextFormat {
  Tokenize tokenize;           ///< a plain prompt, with the tokenizer's own special tokens
  Tokenize tokenize_rendered;  ///< rendered text and completions: nothing is added
  Render render;               ///< empty: rows with message lists are refused
};

/// `prompt`, and all other columns as fields; a conversation stays in the field `prompt_messages`. Throws
/// FormatError beginning with `row.where` for a prompt that is missing, malformed or has no tokens.
Prompt to_prompt(Row row, const TextFormat& format);

struct PromptCompletion {
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> completion_ids;  ///< without an end-of-sequence id
  bool is_rendered = false;             ///< the template has ended the turn
};

/// `prompt` with `completion` (or `solution` where there is no `completion`), strings both or message lists
/// both; or `messages`, whose last one, the assistant's, is the completion. Throws FormatError likewise.
PromptCompletion to_prompt_completion(const Row& row, const TextFormat& format);

/// The same of `prompt` with the column `completion`, which may have any name.
PromptCompletion prompt_with(const Row& row, const char* completion, const TextFormat& format);

/// The same of a column of messages, whose last one, the assistant's, is the completion.
PromptCompletion split_messages(const Row& row, const char* name, const TextFormat& format);

/// What tells prompts apart: the string, or the messages as JSON. Throws FormatError as above.
std::string prompt_key(const Row& row);

}  // namespace cohort
