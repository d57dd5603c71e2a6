#include "cohort/serve/api/request_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "cohort/serve/api/api_error.h"
#include "libs/common/ascii.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr int64_t kMostTokens = int64_t{1} << 40;

void read_logit_bias(BodyReader& body, const ServedModel& model, SamplingParams& params) {
  const Json* table = body.find("logit_bias");
  if (table == nullptr) return;
  if (!table->is_object())
    throw ApiError("\"logit_bias\" must be an object of token ids and numbers", "logit_bias");
  for (const auto& [key, bias] : table->items()) {
    int64_t id = -1;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = read.ec == std::errc() && read.ptr == key.data() + key.size() && id >= 0 &&
                       id < model.config->vocab_size;
    if (!is_id) throw ApiError(str("\"logit_bias\": \"", key, "\" is no token id"), "logit_bias");
    if (!bias.is_number() || !(std::abs(bias.get<double>()) <= 100.0))
      throw ApiError("\"logit_bias\": a bias must be a number from -100 to 100", "logit_bias");
    params.logit_bias.emplace_back(static_cast<int32_t>(id), bias.get<double>());
  }
}

}  // namespace

void check_model_name(BodyReader& body, const ServedModel& model) {
  const auto name = body.text("model");
  if (name && *name != model.name)
    throw ApiError(str("the model \"", *name, "\" is not served; this server has \"", model.name, "\""),
                   "model", 404);
}

SamplingParams read_sampling(BodyReader& body, const ServedModel& model,
                             std::initializer_list<const char*> length_names) {
  SamplingParams params = model.defaults;
  params.include_stop_str_in_output = false;
  params.temperature = body.number("temperature", 0.0, 100.0).value_or(params.temperature);
  params.top_p = body.number("top_p", 0.0, 1.0).value_or(params.top_p);
  params.top_k = std::max<int64_t>(0, body.integer("top_k", -1, kMostTokens).value_or(params.top_k));
  params.min_p = body.number("min_p", 0.0, 1.0).value_or(params.min_p);
  params.presence_penalty = body.number("presence_penalty", -2.0, 2.0).value_or(params.presence_penalty);
  params.frequency_penalty = body.number("frequency_penalty", -2.0, 2.0).value_or(params.frequency_penalty);
  params.repetition_penalty =
      body.number("repetition_penalty", 1e-6, kMost).value_or(params.repetition_penalty);
  read_logit_bias(body, model, params);
  params.min_tokens = body.integer("min_tokens", 0, kMostTokens).value_or(0);
  params.ignore_eos = body.flag("ignore_eos");
  if (params.ignore_eos) params.stop_token_ids.clear();
  if (const Json* ids = body.find("stop_token_ids")) {
    const bool are_ids = ids->is_array() && std::ranges::all_of(*ids, [&](const Json& id) {
                           return id.is_number_integer() && id.get<int64_t>() >= 0 &&
                                  id.get<int64_t>() < model.config->vocab_size;
                         });
    if (!are_ids) throw ApiError("\"stop_token_ids\" must be a list of token ids", "stop_token_ids");
    for (const Json& id : *ids) params.stop_token_ids.push_back(id.get<int32_t>());
  }
  std::optional<int64_t> length;
  for (const char* name : length_names) {
    const auto given = body.integer(name, 1, kMostTokens);
    if (!length) length = given;
  }
  params.max_completion_length = length.value_or(model.config->context_length);
  return params;
}

void read_stops(BodyReader& body, const char* name, SamplingParams& params) {
  const Json* stops = body.find(name);
  if (stops == nullptr) return;
  const Json list = stops->is_array() ? *stops : Json::array({*stops});
  for (const Json& stop : list) {
    if (!stop.is_string() || stop.get_ref<const std::string&>().empty())
      throw ApiError(str("\"", name, "\" must be a string or a list of strings, none of them empty"), name);
    params.stop_strings.push_back(stop.get<std::string>());
  }
}

Json read_tools(BodyReader& body, bool may_call, const std::function<Json(const Json& tool)>& function_of,
                const char* form) {
  const Json* tools = body.find("tools");
  if (tools == nullptr || *tools == Json::array()) return nullptr;
  if (!tools->is_array()) throw ApiError("\"tools\" must be a list", "tools");
  Json result = Json::array();
  for (const Json& tool : *tools) {
    Json function = tool.is_object() ? function_of(tool) : Json();
    if (function.is_null()) throw ApiError(str("\"tools\": each must be ", form), "tools");
    result.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return may_call ? result : Json();
}

Json function_fields(const Json& function) {
  if (!function.is_object() || !function.value("name", Json()).is_string()) return nullptr;
  Json fields = {{"name", function.at("name")}};
  for (const char* key : {"description", "parameters"}) {
    if (function.contains(key) && !function.at(key).is_null()) fields[key] = function.at(key);
  }
  return fields;
}

std::vector<int32_t> read_token_ids(const Json& list, const ServedModel& model, const char* param) {
  if (!list.is_array() || list.empty())
    throw ApiError(str("\"", param, "\" must be a list of token ids",
                       param == std::string("prompt") ? " or a text" : "", ", and not empty"),
                   param);
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= model.config->vocab_size)
      throw ApiError(str("\"", param, "\": ", to_json_text(id), " is no token id of the model"), param);
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

void check_prompt_bytes(size_t num_bytes, const ServedModel& model, const char* param) {
  if (num_bytes <= model.max_prompt_bytes) return;
  throw ApiError(str("\"", param, "\" has ", num_bytes, " bytes, more than the model's context of ",
                     model.config->context_length, " tokens can hold; shorten it"),
                 param);
}

void set_conversation(GenerationRequest& request, const Json& messages, const Json& tools, const Json& kwargs,
                      const ServedModel& model, const char* param) {
  if (model.calls == nullptr)
    throw ApiError("the served model has no chat template; use /v1/completions", param);
  size_t num_bytes = 0;
  for (const Json& message : messages)
    num_bytes += message.at("content").get_ref<const std::string&>().size();
  check_prompt_bytes(num_bytes, model, param);
  request.is_chat = true;
  request.messages = messages;
  request.tools = tools;
  Row row{{{"prompt", messages}}, param, param};
  if (!tools.is_null()) row.columns["tools"] = tools;
  if (!kwargs.is_null()) row.columns["chat_template_kwargs"] = kwargs;
  try {
    Prompt prompt = to_prompt(std::move(row), model.format);
    const std::string_view open = trim(model.calls->reasoning_open);
    request.opens_reasoning = !open.empty() && trim(prompt.text).ends_with(open);
    request.prompts = {std::move(prompt.token_ids)};
  } catch (const UserError& error) {
    throw ApiError(error.what(), param);
  }
}

void check_lengths(GenerationRequest& request, const ServedModel& model, bool is_length_given) {
  const int64_t context = model.config->context_length;
  for (const std::vector<int32_t>& prompt : request.prompts) {
    const auto length = std::ssize(prompt);
    if (length >= context) {
      throw ApiError(
          str("the prompt has ", length, " tokens, and the model's context ", context, "; shorten it"),
          "prompt");
    }
    if (is_length_given && length + request.params.max_completion_length > context) {
      throw ApiError(
          str("the prompt has ", length, " tokens and the completion up to ",
              request.params.max_completion_length, ", more than the model's context of ", context),
          "max_tokens");
    }
  }
}

bool wants_stream_usage(BodyReader& body) {
  const Json* options = body.find("stream_options");
  return options != nullptr && options->is_object() && options->value("include_usage", Json()) == true;
}

Json token_ids_of(const std::vector<SampledToken>& tokens) {
  Json ids = Json::array();
  for (const SampledToken& token : tokens) ids.push_back(token.id);
  return ids;
}

std::string object_id(const char* prefix, int64_t number) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); number != 0; ++digit, number >>= 4) *digit = kDigits[number & 15];
  return prefix + digits;
}

std::string call_id(int64_t number, size_t choice, size_t call) {
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  CounterRng random(static_cast<uint64_t>(number), {choice, call});
  std::string id(9, ' ');
  for (char& letter : id) letter = kLetters[random.below(kLetters.size())];
  return id;
}

AssistantMessage read_turn_text(const ServedModel& model, const GenerationRequest& request, std::string text,
                                int64_t number, size_t choice) {
  const ToolCallFormat& format = *model.calls;
  if (request.opens_reasoning && text.find(format.reasoning_open) == std::string::npos)
    text.insert(0, format.reasoning_open);
  AssistantMessage message = parse_turn(format, text, request.tools);
  const bool is_broken =
      std::ranges::any_of(message.tool_calls, [](const ToolCall& call) { return !call.error.empty(); });
  if (is_broken || (request.tools.is_null() && !message.tool_calls.empty())) {
    message = {};
    message.content = take_reasoning(format, text, message);
  }
  if (!request.allows_parallel_calls && message.tool_calls.size() > 1) message.tool_calls.resize(1);
  for (size_t i = 0; i < message.tool_calls.size(); ++i) {
    if (message.tool_calls[i].id.empty()) message.tool_calls[i].id = call_id(number, choice, i);
  }
  return message;
}

std::string token_text(const ServedModel& model, int32_t id) {
  return model.tokenizer->decode(std::span(&id, 1), {.skip_special_tokens = false});
}

Json token_logprob(const ServedModel& model, int32_t id, float logprob) {
  const std::string text = token_text(model, id);
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  // JSON has no infinity; this is the value that other servers write.
  return {{"token", text}, {"logprob", std::max(logprob, -9999.0f)}, {"bytes", std::move(bytes)}};
}

Json drawn_logprob(const ServedModel& model, const SampledToken& token) {
  Json entry = token_logprob(model, token.id, token.logprob);
  Json& top = entry["top_logprobs"] = Json::array();
  for (const auto& [id, logprob] : token.top_logprobs) top.push_back(token_logprob(model, id, logprob));
  return entry;
}

}  // namespace cohort
