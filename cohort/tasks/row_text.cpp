#include "cohort/tasks/row_text.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/tasks/content_parts.h"

namespace cohort {
namespace {

[[noreturn]] void fail(const Row& row, const std::string& what) {
  throw FormatError(str(row.where, ": ", what));
}

/// The names of the row's columns, for messages.
std::string column_names(const Row& row) {
  constexpr size_t kMaxNames = 8;
  std::string names;
  size_t count = 0;
  for (const auto& [name, value] : row.columns.items()) {
    if (count++ == kMaxNames) return names + ", ...";
    names += (names.empty() ? "" : ", ") + to_json_text(name);
  }
  return names.empty() ? "none" : names;
}

const Json& column(const Row& row, const char* name) {
  const auto found = row.columns.find(name);
  if (found == row.columns.end()) {
    fail(row, str("the column \"", name, "\" is missing; the row has ", column_names(row), " (--columns ",
                  name, "=NAME takes it from the column NAME)"));
  }
  return *found;
}

void check_messages(const Row& row, const char* name, const Json& messages) {
  if (messages.empty()) fail(row, str("the column \"", name, "\" is a list without messages"));
  for (const Json& message : messages) {
    const bool has_role = message.is_object() && message.contains("role") && message.at("role").is_string();
    if (!has_role) fail(row, str("the column \"", name, "\" holds a message without a string \"role\""));
    if (const auto other = find_other_part(message.value("content", Json())))
      fail(row, str("the column \"", name, "\" holds a message with ", *other, "; only text can be read"));
  }
}

/// A string or a list of messages.
const Json& text_column(const Row& row, const char* name) {
  const Json& value = column(row, name);
  if (value.is_array()) {
    check_messages(row, name, value);
  } else if (!value.is_string()) {
    fail(row,
         str("the column \"", name, "\" must be a string or a list of messages, not ", value.type_name()));
  }
  return value;
}

bool is_from_assistant(const Json& message) { return message.at("role") == "assistant"; }

/// A conversation that begins with the system prompt, its own or that of the run.
Json with_system_message(const Json& messages, const TextFormat& format) {
  const Json role = messages.front().at("role");
  if (format.system_prompt.empty() || role == "system" || role == "developer") return messages;
  Json result = Json::array({{{"role", "system"}, {"content", format.system_prompt}}});
  result.insert(result.end(), messages.begin(), messages.end());
  return result;
}

/// The run's variables of the template under the row's own.
Json template_kwargs(const Row& row, const TextFormat& format) {
  const Json own = row.columns.value("chat_template_kwargs", Json());
  if (!own.is_object() || !format.chat_template_kwargs.is_object())
    return own.is_null() ? format.chat_template_kwargs : own;
  Json merged = format.chat_template_kwargs;
  merged.update(own);
  return merged;
}

/// Ids of a text of this row.
std::vector<int32_t> tokenized(const Row& row, const Tokenize& tokenize, const std::string& text) {
  try {
    return tokenize(text);
  } catch (const UserError& error) {
    fail(row, error.what());
  }
}

RenderOptions render_options(const Row& row, const TextFormat& format) {
  RenderOptions options;
  options.tools = row.columns.value("tools", Json());
  if (options.tools.is_string()) {  // as tables of mixed schemas keep them
    options.tools = Json::parse(options.tools.get<std::string>(), nullptr, /*allow_exceptions=*/false);
    if (options.tools.is_discarded())
      throw FormatError(str(row.where, ": \"tools\" is a string, but no JSON"));
  }
  if (options.tools.is_null()) options.tools = format.tools;
  options.chat_template_kwargs = template_kwargs(row, format);
  return options;
}

/// The one place where conversations become text.
std::string rendered(const Row& row, const Json& given, const TextFormat& format, bool ends_with_prompt) {
  if (!format.render) {
    fail(row,
         "holds a list of messages, for which the model's chat template is not applied here; give strings");
  }
  const Json messages = with_system_message(given, format);
  RenderOptions options = render_options(row, format);
  if (ends_with_prompt) {
    options.continue_final_message = is_from_assistant(messages.back());
    options.add_generation_prompt = !options.continue_final_message;
  }
  try {
    return format.render(messages, options);
  } catch (const UserError& error) {
    fail(row, error.what());
  }
}

/// Ids of a conversation that is cut into what is given and what is to be learnt.
PromptCompletion conversation(const Row& row, const Json& given, const Json& whole,
                              const TextFormat& format) {
  const std::string prompt = rendered(row, given, format, true);
  const std::string text = rendered(row, whole, format, false);
  if (!text.starts_with(prompt)) {
    fail(row,
         "the chat template renders the prompt otherwise when a completion follows, so that the two "
         "can't be told apart");
  }
  return {tokenized(row, format.tokenize_rendered, prompt),
          tokenized(row, format.tokenize_rendered, text.substr(prompt.size())), true};
}

}  // namespace

std::string with_system_prompt(const std::string& prompt, const TextFormat& format) {
  return format.system_prompt.empty() ? prompt : format.system_prompt + "\n\n" + prompt;
}

Prompt to_prompt(Row row, const TextFormat& format) {
  const Json& value = text_column(row, "prompt");
  Prompt prompt;
  prompt.id = row.id;
  if (value.is_array()) {
    prompt.text = rendered(row, value, format, true);
    prompt.token_ids = tokenized(row, format.tokenize_rendered, prompt.text);
    row.columns["prompt_messages"] = with_system_message(value, format);
  } else {
    prompt.text = with_system_prompt(value.get<std::string>(), format);
    prompt.token_ids = tokenized(row, format.tokenize, prompt.text);
  }
  if (prompt.token_ids.empty()) fail(row, "the prompt has no tokens");
  row.columns.erase("prompt");
  prompt.fields = std::move(row.columns);
  return prompt;
}

PromptCompletion split_messages(const Row& row, const char* name, const TextFormat& format) {
  const Json& messages = column(row, name);
  if (!messages.is_array()) fail(row, str("the column \"", name, "\" must be a list of messages"));
  check_messages(row, name, messages);
  if (messages.size() < 2 || !is_from_assistant(messages.back())) {
    fail(row, str("the last one of several messages in \"", name,
                  "\" must be the assistant's: it is what is learnt"));
  }
  Json given = messages;
  given.erase(given.size() - 1);
  return conversation(row, given, messages, format);
}

PromptCompletion prompt_with(const Row& row, const char* name, const TextFormat& format) {
  const Json& prompt = text_column(row, "prompt");
  const Json& completion = text_column(row, name);
  if (prompt.is_array() != completion.is_array()) {
    fail(row, str("\"prompt\" and \"", name, "\" must both be strings or both lists of messages"));
  }
  if (prompt.is_array()) {
    Json whole = prompt;
    whole.insert(whole.end(), completion.begin(), completion.end());
    return conversation(row, prompt, whole, format);
  }
  return {tokenized(row, format.tokenize, with_system_prompt(prompt.get<std::string>(), format)),
          tokenized(row, format.tokenize_rendered, completion.get<std::string>())};
}

AssistantTurns assistant_turns(const Row& row, const TextFormat& format) {
  const bool has_prompt = row.columns.contains("prompt") || !row.columns.contains("messages");
  Json messages = text_column(row, has_prompt ? "prompt" : "messages");
  size_t given = 0;
  if (has_prompt && messages.is_array()) {
    given = messages.size();
    const Json& completion = text_column(row, "completion");
    if (completion.is_array()) messages.insert(messages.end(), completion.begin(), completion.end());
  }
  if (!messages.is_array() || messages.size() == given || !format.render_marked)
    fail(row, "train.assistant_only_loss needs conversations: lists of messages");
  const Json whole = with_system_message(messages, format);
  if (given > 0) given += whole.size() - messages.size();
  MarkedIds marked;
  try {
    marked = format.render_marked(whole, given, render_options(row, format));
  } catch (const UserError& error) {
    fail(row, error.what());
  }
  const auto first = std::find(marked.is_assistant.begin(), marked.is_assistant.end(), 1);
  const auto last = std::find(marked.is_assistant.rbegin(), marked.is_assistant.rend(), 1).base();
  if (first == marked.is_assistant.end())
    fail(row, "the assistant wrote no token: there is nothing to learn");
  const auto begin = first - marked.is_assistant.begin(), end = last - marked.is_assistant.begin();
  return {{marked.ids.begin(), marked.ids.begin() + begin},
          {marked.ids.begin() + begin, marked.ids.begin() + end},
          {first, last}};
}

PromptCompletion to_prompt_completion(const Row& row, const TextFormat& format) {
  const Json& columns = row.columns;
  if (!columns.contains("prompt") && columns.contains("messages"))
    return split_messages(row, "messages", format);
  const bool has_completion = columns.contains("completion") || !columns.contains("solution");
  return prompt_with(row, has_completion ? "completion" : "solution", format);
}

std::string prompt_key(const Row& row) {
  if (row.columns.contains("text") && !row.columns.contains("prompt") && !row.columns.contains("messages"))
    return to_json_text(row.columns.at("text"));
  if (row.columns.contains("prompt") || !row.columns.contains("messages")) {
    const Json& prompt = text_column(row, "prompt");
    return string_or_json(prompt);
  }
  const Json& messages = row.columns.at("messages");
  if (!messages.is_array() || messages.empty()) return to_json_text(messages);
  Json given = messages;
  given.erase(given.size() - 1);
  return to_json_text(given);
}

}  // namespace cohort
