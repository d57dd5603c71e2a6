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
  std::string where;  ///< the same with the path as the user gave it, for messages
};

/// Arguments of a chat template.
struct RenderOptions {
  bool add_generation_prompt = false;   ///< end with the opening of the assistant's turn
  bool continue_final_message = false;  ///< leave the last message open
  Json tools;                           ///< the row's column, or null
  Json chat_template_kwargs;            ///< the row's column, or null
};

/// The text of a conversation under the model's chat template. Throws UserError if the template
/// refuses it.
using Render = std::function<std::string(const Json& messages, const RenderOptions& options)>;

/// A conversation's ids, and for each whether the assistant wrote it.
struct MarkedIds {
  std::vector<int32_t> ids;
  std::vector<int8_t> is_assistant;
};

/// The ids of a conversation, its `given` first messages unmarked. Throws UserError if the template
/// refuses it or does not mark the assistant's text.
using RenderMarked =
    std::function<MarkedIds(const Json& messages, size_t given, const RenderOptions& options)>;

using Tokenize = std::function<std::vector<int32_t>(const std::string&)>;

/// How text becomes ids. Calls may come from several threads.
struct TextFormat {
  Tokenize tokenize;           ///< a plain prompt, with the tokenizer's own special tokens
  Tokenize tokenize_rendered;  ///< rendered text and completions, without special tokens added
  Render render;               ///< empty: rows with message lists are refused
  RenderMarked render_marked{};
  std::function<bool()> has_rendered{};  ///< whether a conversation was rendered so far
  std::string system_prompt{};           ///< added to prompts that have none; empty: none is added
  Json chat_template_kwargs{};           ///< an object that a row's column adds to and overrides, or null
  Json tools{};                          ///< schemas for rows without a column of them, or null
  std::function<std::string(bool with_tools)> template_source{};  ///< of the chat template
};

/// A plain prompt after the system prompt and an empty line, if there is a system prompt.
std::string with_system_prompt(const std::string& prompt, const TextFormat& format);

/// `prompt`, and all other columns as fields; a conversation stays in the field `prompt_messages`, with the
/// system prompt. Throws FormatError beginning with `row.where` for a prompt that is missing, malformed or
/// has no tokens.
Prompt to_prompt(Row row, const TextFormat& format);

struct PromptCompletion {
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> completion_ids;  ///< without an end-of-sequence id
  bool is_rendered = false;             ///< the template has ended the turn
};

/// A conversation of which the model learns every message of the assistant: those of `messages`, or of
/// `completion` after `prompt`. The prompt is the text before the first of them. Throws FormatError likewise.
struct AssistantTurns {
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> completion_ids;
  std::vector<int8_t> is_assistant;  ///< of each of the completion's ids
};
AssistantTurns assistant_turns(const Row& row, const TextFormat& format);

/// `prompt` with `completion` (or `solution` if there is no `completion`), both strings or both message
/// lists; or `messages`, whose last one, the assistant's, is the completion. Throws FormatError likewise.
PromptCompletion to_prompt_completion(const Row& row, const TextFormat& format);

/// The same for `prompt` with a column of any name, `completion`.
PromptCompletion prompt_with(const Row& row, const char* completion, const TextFormat& format);

/// The same for a column of messages, whose last one, the assistant's, is the completion.
PromptCompletion split_messages(const Row& row, const char* name, const TextFormat& format);

/// The key that distinguishes prompts: the string, or the messages as JSON; of a row with `text` alone the
/// text. Throws FormatError as above.
std::string prompt_key(const Row& row);

}  // namespace cohort
