// OpenAI's POST /v1/responses: the part that agents use. Nothing is stored.
#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api/chat_messages.h"
#include "cohort/serve/api/output_constraint.h"
#include "cohort/serve/api/request_fields.h"
#include "cohort/serve/api/usage.h"

namespace cohort {
namespace {

class ResponseWriter : public AnswerWriter {
 public:
  ResponseWriter(const ServedModel& model, int64_t number, const Json& body)
      : model_(model), number_(number), body_(body) {}

  int64_t num_prompt_tokens = 0;

  Json whole(const std::vector<Choice>& choices) override {
    const Choice& drawn = choices.front();
    const AssistantMessage& message = drawn.message;
    Json output = Json::array();
    if (!message.reasoning_content.empty()) output.push_back(reasoning_item(message.reasoning_content));
    if (!message.content.empty() || message.tool_calls.empty()) output.push_back(text_item(message.content));
    for (size_t i = 0; i < message.tool_calls.size(); ++i) output.push_back(call_item(message, i));
    const bool is_cut = drawn.finish_reason == FinishReason::kLength;
    Json response = head(is_cut ? "incomplete" : "completed", output);
    if (is_cut) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    const int64_t count = num_tokens(choices);
    response["usage"] = {{"input_tokens", num_prompt_tokens},
                         {"input_tokens_details", {{"cached_tokens", 0}}},
                         {"output_tokens", count},
                         {"output_tokens_details", {{"reasoning_tokens", 0}}},
                         {"total_tokens", num_prompt_tokens + count}};
    return response;
  }

  std::string begin() override {
    const Json response = head("in_progress", Json::array());
    std::string events = event("response.created", {{"response", response}});
    events += event("response.in_progress", {{"response", response}});
    return events;
  }

  std::string piece(size_t, const Piece& piece) override {
    if (piece.text.empty()) return {};
    std::string events;
    if (open_ != nullptr && piece.is_reasoning != is_reasoning_) events += close();
    if (open_ == nullptr) events += open(piece.is_reasoning);
    text_ += piece.text;
    Json data = place();
    data["delta"] = piece.text;
    if (!is_reasoning_) data["logprobs"] = Json::array();
    return events + event(str("response.", part_name(), ".delta"), data);
  }

  std::string end(size_t, const Choice& drawn) override {
    const AssistantMessage& message = drawn.message;
    std::string events = close();
    if (index_ == 0 && message.tool_calls.empty()) {
      events += open(false);
      events += close();
    }
    for (size_t i = 0; i < message.tool_calls.size(); ++i) {
      const Json item = call_item(message, i);
      Json begun = item;
      begun["arguments"] = "";
      begun["status"] = "in_progress";
      const Json where = {{"item_id", item["id"]}, {"output_index", index_}};
      Json delta = where, done = where;
      delta["delta"] = done["arguments"] = item["arguments"];
      done["name"] = item["name"];
      events += event("response.output_item.added", {{"output_index", index_}, {"item", begun}});
      events += event("response.function_call_arguments.delta", delta);
      events += event("response.function_call_arguments.done", done);
      events += event("response.output_item.done", {{"output_index", index_}, {"item", item}});
      ++index_;
    }
    return events;
  }

  std::string finish(const std::vector<Choice>& choices) override {
    const Json response = whole(choices);
    return event(str("response.", response["status"].get<std::string>()), {{"response", response}});
  }

 private:
  Json head(const char* status, const Json& output) const {
    const auto given = [&](const char* name, const Json& otherwise) {
      const auto found = body_.find(name);
      return found == body_.end() ? otherwise : *found;
    };
    return {{"id", object_id("resp_", number_)},
            {"object", "response"},
            {"created_at", model_.created},
            {"status", status},
            {"error", nullptr},
            {"incomplete_details", nullptr},
            {"instructions", given("instructions", nullptr)},
            {"max_output_tokens", given("max_output_tokens", nullptr)},
            {"metadata", given("metadata", Json::object())},
            {"model", model_.name},
            {"output", output},
            {"parallel_tool_calls", given("parallel_tool_calls", true)},
            {"previous_response_id", nullptr},
            {"store", false},
            {"temperature", given("temperature", model_.defaults.temperature)},
            {"text", given("text", {{"format", {{"type", "text"}}}})},
            {"tool_choice", given("tool_choice", "auto")},
            {"tools", given("tools", Json::array())},
            {"top_p", given("top_p", model_.defaults.top_p)},
            {"truncation", "disabled"},
            {"usage", nullptr}};
  }

  Json text_item(const std::string& text) const {
    return {{"id", object_id("msg_", number_)},
            {"type", "message"},
            {"role", "assistant"},
            {"status", "completed"},
            {"content", Json::array({text_part(text)})}};
  }

  static Json text_part(const std::string& text) {
    return {
        {"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
  }

  Json reasoning_item(const std::string& text) const {
    return {{"id", object_id("rs_", number_)},
            {"type", "reasoning"},
            {"summary", Json::array()},
            {"content", Json::array({{{"type", "reasoning_text"}, {"text", text}}})},
            {"status", "completed"}};
  }

  Json call_item(const AssistantMessage& message, size_t i) const {
    const ToolCall& call = message.tool_calls[i];
    return {{"id", "fc_" + call.id}, {"type", "function_call"}, {"status", "completed"},
            {"call_id", call.id},    {"name", call.name},       {"arguments", to_json_text(call.arguments)}};
  }

  const char* part_name() const { return is_reasoning_ ? "reasoning_text" : "output_text"; }

  Json item(const std::string& text) const { return is_reasoning_ ? reasoning_item(text) : text_item(text); }

  Json place() const { return {{"item_id", item("")["id"]}, {"output_index", index_}, {"content_index", 0}}; }

  std::string open(bool is_reasoning) {
    is_reasoning_ = is_reasoning;
    Json begun = item("");
    const Json part = begun["content"][0];
    begun["content"] = Json::array();
    begun["status"] = "in_progress";
    open_ = part_name();
    Json added = place();
    added["part"] = part;
    std::string events = event("response.output_item.added", {{"output_index", index_}, {"item", begun}});
    events += event("response.content_part.added", added);
    return events;
  }

  /// Ends the item that is open, if one is.
  std::string close() {
    if (open_ == nullptr) return {};
    const Json whole = item(text_);
    Json done = place(), part = place();
    done["text"] = text_;
    if (!is_reasoning_) done["logprobs"] = Json::array();
    part["part"] = whole["content"][0];
    std::string events = event(str("response.", open_, ".done"), done);
    events += event("response.content_part.done", part);
    events += event("response.output_item.done", {{"output_index", index_}, {"item", whole}});
    ++index_;
    text_.clear();
    open_ = nullptr;
    return events;
  }

  std::string event(const std::string& type, const Json& data) {
    Json whole = {{"type", type}, {"sequence_number", sequence_++}};
    whole.update(data);
    return server_sent_event(whole, type);
  }

  const ServedModel& model_;
  int64_t number_;
  Json body_;
  int64_t sequence_ = 0;
  int64_t index_ = 0;           // of the item that is open, or of the next one
  const char* open_ = nullptr;  // the kind of text that is being written
  bool is_reasoning_ = false;
  std::string text_;  // of the item that is open
};

/// A tool that OpenAI runs itself has another type.
Json function_of(const Json& tool) {
  return tool.value("type", Json()) == "function" ? function_fields(tool) : Json();
}

}  // namespace

ApiRequest read_response(const Json& json, const ServedModel& model, int64_t number) {
  BodyReader body(json);
  check_model_name(body, model);
  GenerationRequest request;
  request.params = read_sampling(body, model, {"max_output_tokens"});
  const bool is_length_given = body.find("max_output_tokens") != nullptr;
  request.params.skip_special_tokens = false;  // marks of calls and reasoning may be special
  request.is_stream = body.flag("stream");
  request.allows_parallel_calls = body.flag("parallel_tool_calls", true);
  if (body.find("previous_response_id") != nullptr || body.find("conversation") != nullptr)
    throw ApiError("responses are not stored; send the whole conversation as \"input\"",
                   "previous_response_id");
  const Json* instructions = body.find("instructions");
  const Json messages =
      messages_of_items(instructions == nullptr ? Json() : *instructions, body.required("input"));
  Json kwargs;
  if (const Json* reasoning = body.find("reasoning")) {
    const Json effort = reasoning->is_object() ? reasoning->value("effort", Json()) : Json();
    if (effort.is_string()) kwargs["reasoning_effort"] = effort;
  }
  const ToolChoice choice = read_tool_choice(body);
  set_conversation(request, messages,
                   read_tools(body, choice.may_call, function_of, "{\"type\": \"function\", \"name\", ...}"),
                   kwargs, model, "input");
  constrain_calls(request, choice, model);
  if (const Json* text = body.find("text"); text != nullptr && text->is_object() && text->contains("format"))
    constrain_to_format(text->at("format"), "text", request, model);
  body.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
               "prompt_cache_retention", "include", "truncation", "background", "stream_options",
               "max_tool_calls", "top_logprobs"});
  body.check_known();
  check_lengths(request, model, is_length_given);
  auto writer = std::make_unique<ResponseWriter>(model, number, json);
  writer->num_prompt_tokens = std::ssize(request.prompts.front());
  return {std::move(request), std::move(writer)};
}

}  // namespace cohort
