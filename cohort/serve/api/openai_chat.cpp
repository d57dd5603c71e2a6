// OpenAI's POST /v1/chat/completions.
#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api/chat_messages.h"
#include "cohort/serve/api/output_constraint.h"
#include "cohort/serve/api/request_fields.h"
#include "cohort/serve/api/usage.h"

namespace cohort {
namespace {

class ChatCompletionWriter : public AnswerWriter {
 public:
  ChatCompletionWriter(const ServedModel& model, int64_t number) : model_(model), number_(number) {}

  bool has_logprobs = false;
  bool has_token_ids = false;
  bool has_usage = false;  ///< a stream ends with it
  std::vector<int32_t> prompt_ids{};

  Json whole(const std::vector<Choice>& choices) override {
    Json answer = head("chat.completion");
    if (has_token_ids) answer["prompt_token_ids"] = prompt_ids;
    for (size_t i = 0; i < choices.size(); ++i) {
      const Choice& drawn = choices[i];
      Json entry = {{"index", i}, {"message", message_of(drawn)}, {"logprobs", nullptr}};
      if (has_logprobs) {
        Json& content = entry["logprobs"]["content"] = Json::array();
        for (const SampledToken& token : drawn.tokens) content.push_back(drawn_logprob(model_, token));
      }
      if (has_token_ids) entry["token_ids"] = token_ids_of(drawn.tokens);
      entry["finish_reason"] = finish_reason(drawn);
      answer["choices"].push_back(std::move(entry));
    }
    answer["usage"] = usage(choices);
    return answer;
  }

  std::string begin() override { return {}; }

  std::string piece(size_t choice, const Piece& piece) override {
    std::string events = opened(choice);
    if (piece.text.empty() && !has_logprobs && !has_token_ids) return events;
    Json delta = Json::object();
    if (!piece.text.empty()) delta[piece.is_reasoning ? "reasoning_content" : "content"] = piece.text;
    events += chunk(choice, std::move(delta), nullptr, piece.token);
    return events;
  }

  std::string end(size_t choice, const Choice& drawn) override {
    std::string events = opened(choice);
    Json calls = calls_of(drawn.message);
    for (size_t i = 0; i < calls.size(); ++i) {
      Json call = {{"index", i}};
      call.update(calls[i]);
      events += chunk(choice, {{"tool_calls", Json::array({std::move(call)})}}, nullptr, nullptr);
    }
    events += chunk(choice, Json::object(), finish_reason(drawn), nullptr);
    return events;
  }

  std::string finish(const std::vector<Choice>& choices) override {
    std::string events;
    if (has_usage) {
      Json last = head("chat.completion.chunk");
      last["choices"] = Json::array();
      last["usage"] = usage(choices);
      events = server_sent_event(last);
    }
    return events + "data: [DONE]\n\n";
  }

 private:
  Json head(const char* object) const {
    return {{"id", object_id("chatcmpl-", number_)},
            {"object", object},
            {"created", model_.created},
            {"model", model_.name},
            {"choices", Json::array()}};
  }

  Json usage(const std::vector<Choice>& choices) const {
    return openai_usage(std::ssize(prompt_ids), choices);
  }

  static Json calls_of(const AssistantMessage& message) {
    Json calls = Json::array();
    for (const ToolCall& call : message.tool_calls)
      calls.push_back({{"id", call.id},
                       {"type", "function"},
                       {"function", {{"name", call.name}, {"arguments", to_json_text(call.arguments)}}}});
    return calls;
  }

  static Json message_of(const Choice& drawn) {
    const AssistantMessage& message = drawn.message;
    Json result = {{"role", "assistant"}, {"content", message.content}, {"refusal", nullptr}};
    if (!message.reasoning_content.empty()) result["reasoning_content"] = message.reasoning_content;
    if (Json calls = calls_of(message); !calls.empty()) {
      result["tool_calls"] = std::move(calls);
      if (message.content.empty()) result["content"] = nullptr;
    }
    return result;
  }

  static const char* finish_reason(const Choice& drawn) {
    return drawn.message.tool_calls.empty() ? to_string(drawn.finish_reason) : "tool_calls";
  }

  /// The first event of a choice, once.
  std::string opened(size_t choice) {
    if (is_open_.size() <= choice) is_open_.resize(choice + 1);
    if (is_open_[choice]) return {};
    is_open_[choice] = true;
    return chunk(choice, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
  }

  std::string chunk(size_t choice, Json delta, const Json& finish_reason, const SampledToken* token) {
    Json event = head("chat.completion.chunk");
    Json entry = {{"index", choice}, {"delta", std::move(delta)}, {"logprobs", nullptr}};
    if (has_logprobs && token != nullptr)
      entry["logprobs"] = {{"content", Json::array({drawn_logprob(model_, *token)})}};
    if (has_token_ids && token != nullptr) entry["token_ids"] = Json::array({token->id});
    if (has_token_ids && !std::exchange(has_given_prompt_, true)) event["prompt_token_ids"] = prompt_ids;
    entry["finish_reason"] = finish_reason;
    event["choices"].push_back(std::move(entry));
    return server_sent_event(event);
  }

  const ServedModel& model_;
  int64_t number_;
  std::vector<bool> is_open_;
  bool has_given_prompt_ = false;
};

}  // namespace

ApiRequest read_chat_completion(const Json& json, const ServedModel& model, int64_t number) {
  BodyReader body(json);
  check_model_name(body, model);
  GenerationRequest request;
  request.params = read_sampling(body, model, {"max_completion_tokens", "max_tokens"});
  const bool is_length_given =
      body.find("max_completion_tokens") != nullptr || body.find("max_tokens") != nullptr;
  read_stops(body, "stop", request.params);
  request.params.skip_special_tokens = false;  // marks of calls and reasoning may be special
  request.num_choices = body.integer("n", 1, 128).value_or(1);
  request.seed = body.integer("seed", INT64_MIN, INT64_MAX);
  request.is_stream = body.flag("stream");
  request.allows_parallel_calls = body.flag("parallel_tool_calls", true);
  auto writer = std::make_unique<ChatCompletionWriter>(model, number);
  writer->has_logprobs = body.flag("logprobs");
  request.params.num_top_logprobs = body.integer("top_logprobs", 0, 20).value_or(0);
  if (request.params.num_top_logprobs > 0 && !writer->has_logprobs)
    throw ApiError("\"top_logprobs\" needs \"logprobs\": true", "top_logprobs");
  writer->has_token_ids = body.flag("return_token_ids");
  writer->has_usage = wants_stream_usage(body);
  Json kwargs = Json::object();
  if (const Json* given = body.find("chat_template_kwargs")) kwargs = *given;
  if (const auto effort = body.text("reasoning_effort")) kwargs["reasoning_effort"] = *effort;
  const ToolChoice choice = read_tool_choice(body);
  const Json tools = read_tools(
      body, choice.may_call, [](const Json& tool) { return function_fields(tool.value("function", Json())); },
      "{\"type\": \"function\", \"function\": {\"name\", ...}}");
  set_conversation(request, template_messages(body.required("messages")), tools,
                   kwargs.empty() ? Json() : kwargs, model, "messages");
  constrain_calls(request, choice, model);
  constrain_output(body, request, model);
  body.ignore({"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
               "prompt_cache_retention", "verbosity", "modalities"});
  body.check_known();
  check_lengths(request, model, is_length_given);
  writer->prompt_ids = request.prompts.front();
  return {std::move(request), std::move(writer)};
}

}  // namespace cohort
