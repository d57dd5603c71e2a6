// Conversations as text, by the chat template of a Hugging Face model directory: what transformers'
// apply_chat_template gives, or the same refusal. Reads
//   chat_template.jinja and additional_chat_templates/*.jinja, else "chat_template" of tokenizer_config.json,
//   which is a string or a list of named templates.
#pragma once

#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/text/code_point_span.h"

namespace cohort {

/// A conversation that a template refuses or can't render within its budget: one line that says what the
/// template did. Programs report it beside the conversation.
class TemplateError : public UserError {
 public:
  using UserError::UserError;
};

/// One conversation and what the template is told beside it.
struct ChatRequest {
  Json messages = Json::array();       ///< objects with "role", "content" and what else the template reads
  Json tools;                          ///< a list of JSON schemas, or null
  bool add_generation_prompt = false;  ///< end with the header of an assistant's message
  std::string continue_final_message;  ///< the final message's field to leave open ("content"), or nothing
  Json variables = Json::object();     ///< further variables of the template
};

struct RenderedChat {
  std::string text;
  std::vector<CodePointSpan> generated;  ///< what the assistant wrote, where the template marks it
};

/// Where a longer conversation does not begin with the text of a shorter one.
struct PrefixBreak {
  size_t num_messages;          ///< of the shorter conversation
  bool with_generation_prompt;  ///< of the shorter conversation
  size_t byte;                  ///< where the texts part
};

/// Immutable; any number of threads may use one object.
class ChatTemplate {
 public:
  /// `template_file`, where it is given, takes the place of the directory's templates. Throws FormatError
  /// naming the file that is missing or unusable.
  static ChatTemplate from_directory(const std::filesystem::path& model_dir,
                                     const std::filesystem::path& template_file = {});

  /// Whether the directory has a chat template. Throws FormatError naming the file that is unusable.
  static bool is_in(const std::filesystem::path& model_dir);

  /// `templates`: sources by name; one of them is "default" unless tools are always given. `special_tokens`:
  /// an object of variables. Throws TemplateError naming the template that can't be parsed.
  ChatTemplate(const std::map<std::string, std::string>& templates, Json special_tokens);

  /// Throws TemplateError when the template refuses the conversation, does not end within its budget or is
  /// missing.
  RenderedChat render(const ChatRequest& request, const std::tm& now) const;

  /// Whether the template for conversations with or without tools marks what the assistant wrote.
  bool marks_generations(bool with_tools) const;

  /// The source of that template.
  const std::string& source(bool with_tools) const;

  /// Whether that template reads a message's content as a list of parts; others join or print it as a string.
  bool reads_content_parts(bool with_tools) const;

  /// Renders the conversation as it grows, before and behind each of the assistant's messages, and returns
  /// the first text that the whole conversation's does not begin with. Episodes over such a template must be
  /// extended by ids, and what the model sees differs from a fresh rendering. Conversations that the template
  /// refuses are passed over, the whole one's refusal is thrown.
  std::optional<PrefixBreak> find_prefix_break(const ChatRequest& request, const std::tm& now) const;

 private:
  struct Source;

  /// Throws TemplateError when `text` can't be parsed.
  void add(const std::string& name, const std::string& text);
  const Source& choose(bool with_tools) const;

  std::map<std::string, std::shared_ptr<const Source>> templates_;
  Json special_tokens_;
};

}  // namespace cohort
