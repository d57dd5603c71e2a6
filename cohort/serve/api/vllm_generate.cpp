// vLLM's POST /inference/v1/generate: token ids in, token ids out.
#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api/request_fields.h"

namespace cohort {
namespace {

class GenerateWriter : public AnswerWriter {
 public:
  explicit GenerateWriter(int64_t number) : number_(number) {}

  bool has_logprobs = false;

  Json whole(const std::vector<Choice>& choices) override {
    Json answer = {{"request_id", object_id("generate-", number_)}, {"choices", Json::array()}};
    for (size_t i = 0; i < choices.size(); ++i) {
      Json content = Json::array();
      for (const SampledToken& token : choices[i].tokens)
        content.push_back({{"token", str("token_id:", token.id)}, {"logprob", token.logprob}});
      Json entry = {{"index", i}, {"token_ids", token_ids_of(choices[i].tokens)}, {"logprobs", nullptr}};
      if (has_logprobs) entry["logprobs"] = {{"content", std::move(content)}};
      entry["finish_reason"] = to_string(choices[i].finish_reason);
      answer["choices"].push_back(std::move(entry));
    }
    return answer;
  }

  std::string begin() override { return {}; }
  std::string piece(size_t, const Piece&) override { return {}; }
  std::string end(size_t, const Choice&) override { return {}; }
  std::string finish(const std::vector<Choice>&) override { return {}; }

 private:
  int64_t number_;
};

}  // namespace

ApiRequest read_generate(const Json& json, const ServedModel& model, int64_t number) {
  BodyReader body(json);
  check_model_name(body, model);
  GenerationRequest request;
  request.prompts = {read_token_ids(body.required("token_ids"), model, "token_ids")};
  const Json* settings = body.find("sampling_params");
  const Json none = Json::object();
  BodyReader params(settings == nullptr ? none : *settings);
  request.params = read_sampling(params, model, {"max_tokens"});
  const bool is_length_given = params.find("max_tokens") != nullptr;
  read_stops(params, "stop", request.params);
  request.params.skip_special_tokens = params.flag("skip_special_tokens", true);
  request.num_choices = params.integer("n", 1, 128).value_or(1);
  request.seed = params.integer("seed", INT64_MIN, INT64_MAX);
  auto writer = std::make_unique<GenerateWriter>(number);
  writer->has_logprobs = params.integer("logprobs", 0, 1).has_value();
  params.ignore({"routed_experts_prompt_start", "spaces_between_special_tokens", "detokenize"});
  params.check_known();
  if (body.flag("stream")) throw ApiError("\"stream\" is not supported here", "stream");
  body.ignore({"cache_salt", "priority", "request_id", "stream_options"});
  body.check_known();
  check_lengths(request, model, is_length_given);
  return {std::move(request), std::move(writer)};
}

}  // namespace cohort
