#include "cohort/agent/agent_answer.h"

#include "cohort/core/error.h"
#include "cohort/serve/api/api_error.h"

namespace cohort {

void check_trainable(const GenerationRequest& request, const SamplingParams& run) {
  const SamplingParams& wanted = request.params;
  if (request.num_choices != 1 || request.prompts.size() != 1)
    throw ApiError("an episode draws one completion for each request; leave out \"n\"", "n");
  if (wanted.temperature != run.temperature || wanted.top_p != run.top_p || wanted.top_k != run.top_k ||
      wanted.min_p != run.min_p)
    throw ApiError(str("the run decides how the policy samples (temperature ", run.temperature, ", top_p ",
                       run.top_p, ", top_k ", run.top_k, "); leave these fields out"),
                   "temperature");
  if (wanted.edits_logits() || wanted.min_tokens != 0 || wanted.ignore_eos ||
      wanted.stop_strings != run.stop_strings || wanted.stop_token_ids != run.stop_token_ids)
    throw ApiError(
        "penalties, logit_bias, min_tokens, ignore_eos and stop are not available while the policy is "
        "trained",
        "stop");
  if (wanted.constraint != run.constraint)
    throw ApiError("a form of the answer or a forced call is not available while the policy is trained",
                   "response_format");
  if (wanted.num_top_logprobs > 0 || request.echoes)
    throw ApiError("top_logprobs and echo are not available while the policy is trained", "top_logprobs");
}

void send_answer(const ApiCall& call, const std::vector<Choice>& choices) {
  AnswerWriter& writer = *call.request.writer;
  if (!call.request.generation.is_stream) {
    call.answer->send(200, to_json_text(writer.whole(choices)));
    return;
  }
  const Choice& choice = choices.front();
  std::string events = writer.begin();
  for (const SampledToken& token : choice.tokens) events += writer.piece(0, {"", false, &token});
  if (!call.request.generation.is_chat) {
    events += writer.piece(0, {choice.text, false, nullptr});
  } else {
    events += writer.piece(0, {choice.message.reasoning_content, true, nullptr});
    events += writer.piece(0, {choice.message.content, false, nullptr});
  }
  events += writer.end(0, choice);
  events += writer.finish(choices);
  call.answer->write(events);
  call.answer->end_stream();
}

}  // namespace cohort
