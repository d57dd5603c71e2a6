// How text becomes token ids under the tokenizer and the chat template of a model directory.
#pragma once

#include <ctime>
#include <filesystem>

#include "cohort/tasks/row_text.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// How text becomes ids under a model directory's tokenizer, which must outlive this, and its chat template,
/// which is read when the first conversation asks for it. Templates that ask for the time get `now`.
TextFormat text_format(const Tokenizer& tokenizer, const std::filesystem::path& model_dir,
                       const std::tm& now);

}  // namespace cohort
