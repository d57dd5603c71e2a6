#include "cohort/tasks/text_format.h"

#include <memory>
#include <mutex>
#include <optional>

#include "cohort/text/chat_template.h"

namespace cohort {
namespace {

/// A model directory's chat template, read when it is first used. Any number of threads may use one object.
class LazyChatTemplate {
 public:
  LazyChatTemplate(std::filesystem::path model_dir, const std::tm& now)
      : model_dir_(std::move(model_dir)), now_(now) {}

  std::string render(const Json& messages, const RenderOptions& options) {
    std::call_once(is_read_, [&] { template_.emplace(ChatTemplate::from_directory(model_dir_)); });
    ChatRequest request;
    request.messages = messages;
    request.tools = options.tools;
    request.add_generation_prompt = options.add_generation_prompt;
    if (options.continue_final_message) request.continue_final_message = "content";
    if (!options.chat_template_kwargs.is_null()) request.variables = options.chat_template_kwargs;
    return template_->render(request, now_).text;
  }

 private:
  std::filesystem::path model_dir_;
  std::tm now_;
  std::once_flag is_read_;
  std::optional<ChatTemplate> template_;
};

}  // namespace

TextFormat text_format(const Tokenizer& tokenizer, const std::filesystem::path& model_dir,
                       const std::tm& now) {
  TextFormat format;
  const auto chat = std::make_shared<LazyChatTemplate>(model_dir, now);
  format.render = [chat](const Json& messages, const RenderOptions& options) {
    return chat->render(messages, options);
  };
  format.tokenize = [&tokenizer](const std::string& text) { return tokenizer.encode(text); };
  format.tokenize_rendered = [&tokenizer](const std::string& text) {
    return tokenizer.encode(text, {.add_special_tokens = false});
  };
  return format;
}

}  // namespace cohort
