// How text becomes token ids under the tokenizer and the chat template of a model directory.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>

#include "cohort/core/config.h"
#include "cohort/tasks/row_text.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

inline constexpr const char* kChatTemplateMeaning =
    "File with a chat template that takes the place of the model's; empty takes the model's.";
inline constexpr const char* kSystemPromptMeaning =
    "System message of conversations that have none; a prompt that is a string begins with it and an empty "
    "line.";
inline constexpr const char* kTemplateKwargsMeaning =
    "Variables of the chat template, such as {enable_thinking = false}; a row's column of this name "
    "overrides "
    "them.";

/// A run's settings for all its prompts.
struct TextSettings {
  std::string chat_template;         ///< a file that replaces the model's template; empty: the model's
  std::string system_prompt;         ///< empty: none
  ScalarTable chat_template_kwargs;  ///< variables of the template
};

/// The keys of commands that take the settings as flags.
void describe(FieldVisitor& f, TextSettings& settings);

/// How text becomes ids under a model directory's tokenizer, which must outlive this, and its chat template,
/// which is read for the first conversation. Templates that ask for the time get `now`. Throws
/// FormatError for a `settings.chat_template` that can't be used.
TextFormat text_format(const Tokenizer& tokenizer, const std::filesystem::path& model_dir, const std::tm& now,
                       const TextSettings& settings = {});

}  // namespace cohort
