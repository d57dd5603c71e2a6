// Anthropic's POST /v1/messages.
#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api/chat_messages.h"
#include "cohort/serve/api/output_constraint.h"
#include "cohort/serve/api/request_fields.h"
#include "cohort/serve/api/usage.h"

namespace cohort {
namespace {

class MessageWriter : public AnswerWriter {
 public:
  MessageWriter(const ServedModel& model, int64_t number) : model_(model), number_(number) {}

  int64_t num_prompt_tokens = 0;

  Json whole(const std::vector<Choice>& choices) override {
    const Choice& drawn = choices.front();
    const AssistantMessage& message = drawn.message;
    Json answer = head();
    Json& content = answer["content"];
    if (!message.reasoning_content.empty())
      content.push_back({{"type", "thinking"}, {"thinking", message.reasoning_content}, {"signature", ""}});
    if (!message.content.empty() || message.tool_calls.empty())
      content.push_back({{"type", "text"}, {"text", message.content}});
    for (const ToolCall& call : message.tool_calls)
      content.push_back(
          {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", call.arguments}});
    answer.update(end_of(drawn));
    answer["usage"]["output_tokens"] = num_tokens(choices);
    return answer;
  }

  std::string begin() override { return event("message_start", {{"message", head()}}); }

  std::string piece(size_t, const Piece& piece) override {
    if (piece.text.empty()) return {};
    std::string events;
    if (is_open_ && piece.is_reasoning != is_reasoning_) events += close();
    if (!is_open_) {
      is_reasoning_ = piece.is_reasoning;
      events += open(is_reasoning_ ? Json{{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}
                                   : Json{{"type", "text"}, {"text", ""}});
    }
    return events + delta(is_reasoning_ ? Json{{"type", "thinking_delta"}, {"thinking", piece.text}}
                                        : Json{{"type", "text_delta"}, {"text", piece.text}});
  }

  std::string end(size_t, const Choice& drawn) override {
    std::string events = close();
    for (const ToolCall& call : drawn.message.tool_calls) {
      events += open({{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", Json::object()}});
      events += delta({{"type", "input_json_delta"}, {"partial_json", to_json_text(call.arguments)}});
      events += close();
    }
    if (index_ == 0) {
      events += open({{"type", "text"}, {"text", ""}});
      events += close();
    }
    return events;
  }

  std::string finish(const std::vector<Choice>& choices) override {
    return event("message_delta",
                 {{"delta", end_of(choices.front())}, {"usage", {{"output_tokens", num_tokens(choices)}}}}) +
           event("message_stop", Json::object());
  }

 private:
  Json head() const {
    return {{"id", object_id("msg_", number_)},
            {"type", "message"},
            {"role", "assistant"},
            {"model", model_.name},
            {"content", Json::array()},
            {"stop_reason", nullptr},
            {"stop_sequence", nullptr},
            {"usage", {{"input_tokens", num_prompt_tokens}, {"output_tokens", 0}}}};
  }

  static Json end_of(const Choice& drawn) {
    const char* reason = "end_turn";
    if (!drawn.message.tool_calls.empty()) {
      reason = "tool_use";
    } else if (!drawn.stop_string.empty()) {
      reason = "stop_sequence";
    } else if (drawn.finish_reason == FinishReason::kLength) {
      reason = "max_tokens";
    }
    return {{"stop_reason", reason},
            {"stop_sequence", drawn.stop_string.empty() ? Json() : Json(drawn.stop_string)}};
  }

  std::string open(const Json& block) {
    is_open_ = true;
    return event("content_block_start", {{"index", index_}, {"content_block", block}});
  }

  std::string delta(const Json& delta) const {
    return event("content_block_delta", {{"index", index_}, {"delta", delta}});
  }

  std::string close() {
    if (!is_open_) return {};
    is_open_ = false;
    return event("content_block_stop", {{"index", index_++}});
  }

  static std::string event(const char* type, const Json& data) {
    Json whole = {{"type", type}};
    whole.update(data);
    return server_sent_event(whole, type);
  }

  const ServedModel& model_;
  int64_t number_;
  int64_t index_ = 0;
  bool is_open_ = false, is_reasoning_ = false;
};

/// "auto", "none", "any" or "tool" with a name.
ToolChoice choice_of(BodyReader& body) {
  const Json* choice = body.find("tool_choice");
  if (choice == nullptr) return {};
  const Json kind = choice->is_object() ? choice->value("type", Json()) : Json();
  const Json name = choice->is_object() ? choice->value("name", Json()) : Json();
  if (kind == "auto" || kind == "none") return {.may_call = kind == "auto"};
  if (kind == "any") return {.must_call = true};
  if (kind == "tool" && name.is_string()) return {.must_call = true, .name = name.get<std::string>()};
  throw ApiError(
      str("\"tool_choice\": the type ", to_json_text(kind), " is not supported; use auto, any, tool or none"),
      "tool_choice");
}

Json function_of(const Json& tool) {
  if (!tool.contains("input_schema")) return nullptr;
  Json function = tool;
  function["parameters"] = tool["input_schema"];
  return function_fields(function);
}

}  // namespace

ApiRequest read_message(const Json& json, const ServedModel& model, int64_t number) {
  BodyReader body(json);
  check_model_name(body, model);
  GenerationRequest request;
  body.required("max_tokens");
  request.params = read_sampling(body, model, {"max_tokens"});
  read_stops(body, "stop_sequences", request.params);
  request.params.skip_special_tokens = false;  // marks of calls and reasoning may be special
  request.is_stream = body.flag("stream");
  Json kwargs;
  if (const Json* thinking = body.find("thinking"); thinking != nullptr && thinking->is_object())
    kwargs["enable_thinking"] = thinking->value("type", Json()) != "disabled";
  if (const Json* choice = body.find("tool_choice"); choice != nullptr && choice->is_object())
    request.allows_parallel_calls = choice->value("disable_parallel_tool_use", Json()) != true;
  const ToolChoice choice = choice_of(body);
  const Json* system = body.find("system");
  const Json messages = messages_of_blocks(system == nullptr ? Json() : *system, body.required("messages"));
  set_conversation(request, messages,
                   read_tools(body, choice.may_call, function_of, "{\"name\", \"input_schema\", ...}"),
                   kwargs, model, "messages");
  constrain_calls(request, choice, model);
  const Json* config = body.find("output_config");
  if (config != nullptr && config->is_object() && config->contains("format"))
    constrain_to_format(config->at("format"), "output_config", request, model);
  body.ignore({"metadata", "service_tier", "container", "inference_geo", "context_management"});
  body.check_known();
  check_lengths(request, model, false);  // max_tokens is required here, and often larger than any context
  auto writer = std::make_unique<MessageWriter>(model, number);
  writer->num_prompt_tokens = std::ssize(request.prompts.front());
  return {std::move(request), std::move(writer)};
}

}  // namespace cohort
