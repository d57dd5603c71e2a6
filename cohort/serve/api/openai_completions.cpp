// OpenAI's POST /v1/completions.
#include <algorithm>

#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api/output_constraint.h"
#include "cohort/serve/api/request_fields.h"
#include "cohort/serve/api/usage.h"

namespace cohort {
namespace {

class CompletionWriter : public AnswerWriter {
 public:
  CompletionWriter(const ServedModel& model, int64_t number) : model_(model), number_(number) {}

  bool has_logprobs = false;
  bool has_token_ids = false;
  bool has_usage = false;  ///< a stream ends with it
  int64_t num_choices = 1;
  std::vector<std::vector<int32_t>> prompts{};

  Json whole(const std::vector<Choice>& choices) override {
    Json answer = head();
    for (size_t i = 0; i < choices.size(); ++i) {
      const Choice& drawn = choices[i];
      Json entry = {{"index", i}, {"text", drawn.text}, {"logprobs", nullptr}};
      if (has_logprobs) entry["logprobs"] = logprobs_of(drawn.tokens, 0);
      if (has_token_ids) {
        entry["prompt_token_ids"] = prompt_of(i);
        entry["token_ids"] = token_ids_of(drawn.tokens);
      }
      entry["finish_reason"] = to_string(drawn.finish_reason);
      answer["choices"].push_back(std::move(entry));
    }
    answer["usage"] = usage(choices);
    return answer;
  }

  std::string begin() override { return {}; }

  std::string piece(size_t choice, const Piece& piece) override {
    if (piece.text.empty() && !has_logprobs && !has_token_ids) return {};
    if (offsets_.size() <= choice) offsets_.resize(choice + 1);
    Json entry = {{"index", choice}, {"text", piece.text}, {"logprobs", nullptr}};
    if (piece.token != nullptr) {
      if (has_logprobs) entry["logprobs"] = logprobs_of({*piece.token}, offsets_[choice]);
      if (has_token_ids) {
        if (offsets_[choice] == 0) entry["prompt_token_ids"] = prompt_of(choice);
        entry["token_ids"] = Json::array({piece.token->id});
      }
      offsets_[choice] += token_text(model_, piece.token->id).size();
    }
    entry["finish_reason"] = nullptr;
    return event(std::move(entry));
  }

  std::string end(size_t choice, const Choice& drawn) override {
    return event({{"index", choice},
                  {"text", ""},
                  {"logprobs", nullptr},
                  {"finish_reason", to_string(drawn.finish_reason)}});
  }

  std::string finish(const std::vector<Choice>& choices) override {
    std::string events;
    if (has_usage) {
      Json last = head();
      last["usage"] = usage(choices);
      events = server_sent_event(last);
    }
    return events + "data: [DONE]\n\n";
  }

 private:
  Json head() const {
    return {{"id", object_id("cmpl-", number_)},
            {"object", "text_completion"},
            {"created", model_.created},
            {"model", model_.name},
            {"choices", Json::array()}};
  }

  std::string event(Json entry) const {
    Json chunk = head();
    chunk["choices"].push_back(std::move(entry));
    return server_sent_event(chunk);
  }

  const std::vector<int32_t>& prompt_of(size_t choice) const { return prompts[choice / num_choices]; }

  Json usage(const std::vector<Choice>& choices) const {
    int64_t count = 0;
    for (const std::vector<int32_t>& prompt : prompts) count += std::ssize(prompt);
    // Echoed tokens are the prompt's.
    Json result = openai_usage(count, choices);
    int64_t echoed = 0;
    for (const Choice& choice : choices) echoed += choice.num_echoed;
    result["completion_tokens"] = result["completion_tokens"].get<int64_t>() - echoed;
    result["total_tokens"] = result["total_tokens"].get<int64_t>() - echoed;
    return result;
  }

  /// The first token of a prompt has no log-probability, which NaN stands for.
  Json logprobs_of(const std::vector<SampledToken>& tokens, size_t offset) const {
    Json names = Json::array(), values = Json::array(), top = Json::array(), offsets = Json::array();
    for (const SampledToken& token : tokens) {
      const std::string text = token_text(model_, token.id);
      const bool has_value = token.logprob == token.logprob;
      names.push_back(text);
      offsets.push_back(offset);
      offset += text.size();
      values.push_back(has_value ? Json(std::max(token.logprob, -9999.0f)) : Json());
      Json best = Json::object();
      for (const auto& [id, logprob] : token.top_logprobs)
        best[token_text(model_, id)] = std::max(logprob, -9999.0f);
      if (has_value) best[text] = std::max(token.logprob, -9999.0f);
      top.push_back(has_value ? best : Json());
    }
    return {{"tokens", names}, {"token_logprobs", values}, {"top_logprobs", top}, {"text_offset", offsets}};
  }

  const ServedModel& model_;
  int64_t number_;
  std::vector<size_t> offsets_;
};

/// A string, a list of strings, a list of token ids or a list of such lists.
std::vector<std::vector<int32_t>> read_prompts(const Json& prompt, const ServedModel& model) {
  constexpr size_t kMost = 1024;
  const bool is_list = prompt.is_array() && !prompt.empty() && !prompt.front().is_number();
  const Json list = is_list ? prompt : Json::array({prompt});
  if (list.size() > kMost) throw ApiError(str("\"prompt\" holds more than ", kMost, " prompts"), "prompt");
  std::vector<std::vector<int32_t>> prompts;
  for (const Json& each : list) {
    if (each.is_string()) check_prompt_bytes(each.get_ref<const std::string&>().size(), model, "prompt");
    try {
      prompts.push_back(each.is_string() ? model.format.tokenize(each.get<std::string>())
                                         : read_token_ids(each, model, "prompt"));
    } catch (const ApiError&) {
      throw;
    } catch (const UserError& error) {
      throw ApiError(str("\"prompt\": ", error.what()), "prompt");
    }
    if (prompts.back().empty()) throw ApiError("\"prompt\" must not be empty", "prompt");
  }
  return prompts;
}

}  // namespace

ApiRequest read_completion(const Json& json, const ServedModel& model, int64_t number) {
  BodyReader body(json);
  check_model_name(body, model);
  GenerationRequest request;
  request.params = read_sampling(body, model, {"max_tokens"});
  const bool is_length_given = body.find("max_tokens") != nullptr;
  if (!is_length_given) request.params.max_completion_length = 16;  // OpenAI's default
  read_stops(body, "stop", request.params);
  request.params.skip_special_tokens = body.flag("skip_special_tokens", true);
  request.prompts = read_prompts(body.required("prompt"), model);
  request.num_choices = body.integer("n", 1, 128).value_or(1);
  constexpr int64_t kMostChoices = 1024;
  if (std::ssize(request.prompts) * request.num_choices > kMostChoices)
    throw ApiError(
        str("\"n\" choices of each prompt are more than ", kMostChoices, "; ask in several requests"), "n");
  if (body.integer("best_of", 1, 128).value_or(request.num_choices) != request.num_choices)
    throw ApiError("\"best_of\" other than \"n\" is not supported", "best_of");
  request.seed = body.integer("seed", INT64_MIN, INT64_MAX);
  request.is_stream = body.flag("stream");
  request.echoes = body.flag("echo");
  if (request.echoes && request.is_stream)
    throw ApiError("\"echo\" and \"stream\" exclude each other", "echo");
  auto writer = std::make_unique<CompletionWriter>(model, number);
  if (const auto count = body.integer("logprobs", 0, 20)) {
    writer->has_logprobs = true;
    request.params.num_top_logprobs = *count;
    request.wants_prompt_logprobs = request.echoes;
  }
  writer->has_token_ids = body.flag("return_token_ids");
  writer->has_usage = wants_stream_usage(body);
  constrain_output(body, request, model);
  body.ignore({"user", "metadata"});
  body.check_known();
  check_lengths(request, model, is_length_given);
  writer->num_choices = request.num_choices;
  writer->prompts = request.prompts;
  return {std::move(request), std::move(writer)};
}

}  // namespace cohort
