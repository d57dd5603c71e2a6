#include "cohort/serve/api_server.h"

#include "cohort/core/error.h"
#include "cohort/http/access.h"
#include "cohort/http/error_json.h"
#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api/body_reader.h"
#include "cohort/serve/api/chat_messages.h"
#include "cohort/serve/api/request_fields.h"

namespace cohort {
namespace {

struct Generator {
  const char* path;
  ReadApiRequest read;
};

constexpr Generator kGenerators[] = {{"/v1/chat/completions", read_chat_completion},
                                     {"/v1/completions", read_completion},
                                     {"/v1/responses", read_response},
                                     {"/v1/messages", read_message},
                                     {"/inference/v1/generate", read_generate}};

}  // namespace

void ApiServer::handle(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer) {
  ++counts_.num_requests;
  const auto refuse = [&](const std::string& message, const std::string& param, int status) {
    answer->send(status, to_json_text(error_json(request.path, message, status, param)));
  };
  try {
    route(request, answer);
  } catch (const ApiError& error) {
    refuse(error.what(), error.param(), error.status());
  } catch (const UserError& error) {  // of the engine
    refuse(error.what(), "", 400);
  }
}

void ApiServer::route(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer) {
  const std::string& path = request.path;
  const bool is_get = request.method == "GET", is_post = request.method == "POST";
  if (path == "/health" && is_get) return answer->send(200, "{}");
  check_key(request);
  for (const Generator& generator : kGenerators) {
    if (path != generator.path || !is_post) continue;
    const int64_t number = next_number_++;
    return generate_({generator.read(parse_body(request.body), model_, number), path, api_key_of(request),
                      answer, number});
  }
  if (path == "/v1/models" && is_get)
    return answer->send(200, to_json_text({{"object", "list"}, {"data", Json::array({model_card()})}}));
  if (path == "/v1/models/" + model_.name && is_get) return answer->send(200, to_json_text(model_card()));
  if (path == "/metrics" && is_get) return answer->send(200, metrics(), "text/plain; version=0.0.4");
  if (path == "/tokenize" && is_post)
    return answer->send(200, to_json_text(tokenized(parse_body(request.body))));
  if (more_ && more_(request, answer)) return;
  throw ApiError(str("there is no ", request.method, " ", path,
                     "; this server has POST /v1/chat/completions, /v1/completions, /v1/responses, "
                     "/v1/messages and /tokenize, and GET /v1/models, /metrics and /health"),
                 "", 404);
}

void ApiServer::check_key(const IncomingRequest& request) const {
  if (api_key_.empty() || is_same_secret(api_key_of(request), api_key_)) return;
  throw ApiError("the API key is missing or wrong; send it as \"Authorization: Bearer KEY\"", "", 401);
}

std::string api_key_of(const IncomingRequest& request) {
  const std::string bearer = bearer_secret(request);
  return bearer.empty() ? request.header("x-api-key") : bearer;
}

Json parse_body(const std::string& body) {
  try {
    return parse_json_line(body, "the body", 1);
  } catch (const UserError& error) {
    throw ApiError(error.what());
  }
}

Json ApiServer::model_card() const {
  return {{"id", model_.name},
          {"object", "model"},
          {"created", model_.created},
          {"owned_by", "cohort"},
          {"max_model_len", model_.config->context_length}};
}

/// As vLLM's /tokenize: of a "prompt", or of the prompt of "messages".
Json ApiServer::tokenized(const Json& json) const {
  BodyReader body(json);
  check_model_name(body, model_);
  std::vector<int32_t> ids;
  if (const Json* messages = body.find("messages")) {
    GenerationRequest request;
    set_conversation(request, template_messages(*messages), nullptr, nullptr, model_, "messages");
    ids = request.prompts.front();
  } else {
    body.required("prompt");
    const std::string text = *body.text("prompt");
    check_prompt_bytes(text.size(), model_, "prompt");
    ids = body.flag("add_special_tokens", true) ? model_.format.tokenize(text)
                                                : model_.format.tokenize_rendered(text);
  }
  body.check_known();
  return {{"count", ids.size()}, {"max_model_len", model_.config->context_length}, {"tokens", ids}};
}

std::string ApiServer::metrics() const {
  const auto line = [](const char* name, const char* type, int64_t value) {
    return str("# TYPE cohort_", name, " ", type, "\ncohort_", name, " ", value, "\n");
  };
  return line("requests_total", "counter", counts_.num_requests) +
         line("requests_running", "gauge", counts_.num_running) +
         line("prompt_tokens_total", "counter", counts_.prompt_tokens) +
         line("generation_tokens_total", "counter", counts_.completion_tokens);
}

}  // namespace cohort
