#include "cohort/tasks/text_format.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/tasks/content_parts.h"
#include "cohort/text/assistant_mask.h"
#include "cohort/text/chat_template.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

/// A model directory's chat template, read when it is first used. Any number of threads may use one object.
class LazyChatTemplate {
 public:
  LazyChatTemplate(std::filesystem::path model_dir, std::filesystem::path file, const std::tm& now)
      : model_dir_(std::move(model_dir)), file_(std::move(file)), now_(now) {}

  bool has_rendered() const { return has_rendered_; }

  void read() {
    std::call_once(is_read_, [&] { template_.emplace(ChatTemplate::from_directory(model_dir_, file_)); });
  }

  std::string source(bool with_tools) {
    read();
    return template_->source(with_tools);
  }

  std::string render(const Json& messages, const RenderOptions& options) {
    return render_request(request_for(messages, options)).text;
  }

  /// What the assistant wrote: the spans that the template marks, or what each of its messages adds to the
  /// text.
  RenderedChat render_marked(const Json& messages, size_t given, const RenderOptions& options) {
    const ChatRequest whole = request_for(messages, options);
    RenderedChat chat = render_request(whole);
    const bool opens_turn = whole.messages.at(given).value("role", Json()) == "assistant";
    const size_t start = given == 0 ? 0 : prefix_length(whole, given, opens_turn, chat.text);
    if (!template_->marks_generations(!options.tools.is_null())) {
      chat.generated.clear();
      for (size_t i = given; i < whole.messages.size(); ++i) {
        if (whole.messages[i].value("role", Json()) != "assistant") continue;
        const size_t begin = i == 0 ? 0 : prefix_length(whole, i, true, chat.text);
        const size_t end = prefix_length(whole, i + 1, false, chat.text);
        chat.generated.push_back({code_points(chat.text, begin), code_points(chat.text, end)});
      }
    }
    const int64_t first = code_points(chat.text, start);
    std::erase_if(chat.generated, [&](const CodePointSpan& span) { return span.begin < first; });
    return chat;
  }

 private:
  static int64_t code_points(const std::string& text, size_t num_bytes) {
    return count_code_points(std::string_view(text).substr(0, num_bytes));
  }

  /// The bytes of the first `count` messages' text, which must begin the text of all.
  size_t prefix_length(const ChatRequest& whole, size_t count, bool with_prompt, const std::string& text) {
    ChatRequest shorter = whole;
    shorter.messages.erase(shorter.messages.begin() + static_cast<int64_t>(count), shorter.messages.end());
    const bool ends_with_assistant = shorter.messages.back().value("role", Json()) == "assistant";
    shorter.add_generation_prompt = with_prompt && !ends_with_assistant;
    const std::string prefix = render_request(shorter).text;
    if (text.starts_with(prefix)) return prefix.size();
    throw UserError(
        str("the chat template renders the first ", count,
            " messages otherwise when more follow, and has no {% generation %} block that marks what "
            "the assistant wrote; name a template with one as model.chat_template"));
  }

  RenderedChat render_request(const ChatRequest& request) {
    has_rendered_ = true;
    return template_->render(request, now_);
  }

  ChatRequest request_for(const Json& messages, const RenderOptions& options) {
    read();
    ChatRequest request;
    const bool reads_parts = template_->reads_content_parts(!options.tools.is_null());
    request.messages = reads_parts ? messages : with_joined_parts(messages);
    request.tools = options.tools;
    request.add_generation_prompt = options.add_generation_prompt;
    if (options.continue_final_message) request.continue_final_message = "content";
    if (!options.chat_template_kwargs.is_null()) request.variables = options.chat_template_kwargs;
    return request;
  }

  std::filesystem::path model_dir_;
  std::filesystem::path file_;
  std::tm now_;
  std::once_flag is_read_;
  std::atomic<bool> has_rendered_ = false;
  std::optional<ChatTemplate> template_;
};

}  // namespace

void describe(FieldVisitor& f, TextSettings& settings) {
  f("chat_template", settings.chat_template, kChatTemplateMeaning);
  f("system_prompt", settings.system_prompt, kSystemPromptMeaning);
  f("chat_template_kwargs", settings.chat_template_kwargs, kTemplateKwargsMeaning);
}

TextFormat text_format(const Tokenizer& tokenizer, const std::filesystem::path& model_dir, const std::tm& now,
                       const TextSettings& settings) {
  TextFormat format;
  const auto chat = std::make_shared<LazyChatTemplate>(model_dir, settings.chat_template, now);
  if (!settings.chat_template.empty()) chat->read();
  format.system_prompt = settings.system_prompt;
  for (const auto& [name, value] : settings.chat_template_kwargs)
    std::visit([&](const auto& held) { format.chat_template_kwargs[name] = held; }, value);
  format.render = [chat](const Json& messages, const RenderOptions& options) {
    return chat->render(messages, options);
  };
  format.render_marked = [chat, &tokenizer](const Json& messages, size_t given,
                                            const RenderOptions& options) -> MarkedIds {
    const RenderedChat rendered = chat->render_marked(messages, given, options);
    const Encoding encoding = tokenizer.encode_with_offsets(rendered.text, {.add_special_tokens = false});
    return {encoding.ids, assistant_mask(encoding.offsets, rendered.generated)};
  };
  format.template_source = [chat](bool with_tools) { return chat->source(with_tools); };
  format.has_rendered = [chat] { return chat->has_rendered(); };
  format.tokenize = [&tokenizer](const std::string& text) { return tokenizer.encode(text); };
  format.tokenize_rendered = [&tokenizer](const std::string& text) {
    return tokenizer.encode(text, {.add_special_tokens = false});
  };
  return format;
}

}  // namespace cohort
