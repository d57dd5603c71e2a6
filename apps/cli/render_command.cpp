// cohort render: conversations as text and ids, by the model's chat template.
#include <iostream>

#include "apps/cli/command.h"
#include "cohort/core/json.h"
#include "cohort/core/jsonl_reader.h"
#include "cohort/core/time_text.h"
#include "cohort/text/assistant_mask.h"
#include "cohort/text/chat_template.h"
#include "cohort/text/tokenizer.h"

namespace cohort::cli {
namespace {

struct RenderConfig {
  std::string model;
  std::string input;
  std::string now;

  void describe(FieldVisitor& f) {
    f("model", model, "Directory with a tokenizer and a chat template; required.");
    f("input", input,
      "JSONL of {\"messages\", \"tools\", \"add_generation_prompt\", \"continue_final_message\", "
      "\"chat_template_kwargs\"}; required.");
    f("now", now,
      "What templates are told is the time, as 2027-03-04T05:06:07; the present time when empty.");
  }
};

std::tm read_time(const std::string& text) {
  if (text.empty()) return present_time();
  const auto time = parse_time_text(text);
  if (!time) throw ConfigError(str("--now must be a time such as 2027-03-04T05:06:07, not \"", text, "\""));
  return *time;
}

/// The value of `key`, or `fallback` where it is absent or null.
Json value_or(const Json& row, const char* key, const Json& fallback) {
  return row.contains(key) && !row.at(key).is_null() ? row.at(key) : fallback;
}

bool read_flag(const Json& row, const char* key) {
  const Json value = value_or(row, key, false);
  if (!value.is_boolean()) throw UserError(str("\"", key, "\" must be true or false"));
  return value.get<bool>();
}

ChatRequest read_request(const Json& row) {
  ChatRequest request;
  if (!row.is_object() || !row.contains("messages"))
    throw UserError("the line must be an object with \"messages\"");
  request.messages = row.at("messages");
  request.tools = value_or(row, "tools", nullptr);
  request.add_generation_prompt = read_flag(row, "add_generation_prompt");
  const Json final = value_or(row, "continue_final_message", false);
  if (final.is_string()) {
    request.continue_final_message = final.get<std::string>();
  } else if (read_flag(row, "continue_final_message")) {
    request.continue_final_message = "content";
  }
  request.variables = value_or(row, "chat_template_kwargs", Json::object());
  return request;
}

class Renderer {
 public:
  Renderer(const std::string& model_dir, const std::tm& now)
      : template_(ChatTemplate::from_directory(model_dir)),
        tokenizer_(Tokenizer::from_directory(model_dir)),
        now_(now) {}

  Json render(const Json& row) const {
    const ChatRequest request = read_request(row);
    const RenderedChat chat = template_.render(request, now_);
    const Encoding encoding = tokenizer_.encode_with_offsets(chat.text, {.add_special_tokens = false});
    Json result = {{"text", chat.text}, {"ids", encoding.ids}};
    const bool is_whole = request.continue_final_message.empty();
    if (is_whole && template_.marks_generations(!request.tools.is_null()))
      result["assistant_masks"] = assistant_mask(encoding.offsets, chat.generated);
    return result;
  }

 private:
  ChatTemplate template_;
  Tokenizer tokenizer_;
  std::tm now_;
};

}  // namespace

int render_command(const Command& self, const Arguments& arguments) {
  RenderConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.model, "model");
  require(config.input, "input");
  const Renderer renderer(config.model, read_time(config.now));
  JsonlReader input(config.input);
  int64_t num_refused = 0;
  while (input.next()) {
    Json result;
    try {
      result = renderer.render(parse_json_line(input.text(), config.input, input.line_number()));
    } catch (const UserError& error) {
      result = {{"error", error.what()}};
      ++num_refused;
    }
    std::cout << to_json_text(result) << "\n";
  }
  if (num_refused == 0) return 0;
  std::cerr << "cohort: " << config.input << ": " << num_refused
            << " conversations were refused; see their \"error\"\n";
  return 2;
}

}  // namespace cohort::cli
