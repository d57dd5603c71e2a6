#include "cohort/sampler/growing_request.h"

#include <algorithm>

namespace cohort {
namespace {

/// The first `num_tokens` tokens of a completion with their columns.
Completion first_tokens(const Completion& completion, int64_t num_tokens) {
  Completion first = completion;
  const int64_t num_sampled = completion.num_sampled_before(num_tokens);
  first.token_ids.resize(num_tokens);
  first.sampler_logprobs.resize(num_sampled);
  if (!first.kept_ids.empty()) first.kept_ids.resize(num_sampled);
  std::erase_if(first.spans, [&](const TokenSpan& span) { return span.first >= num_tokens; });
  if (!first.spans.empty()) first.spans.back().count = num_tokens - first.spans.back().first;
  return first;
}

}  // namespace

DecodeOptions decode_options(const SamplingParams& params) {
  return {.skip_special_tokens = params.skip_special_tokens};
}

bool GrowingRequest::append_sampled(SampledToken token, int64_t policy_version) {
  const SamplingParams& params = request.params;
  completion.append(token.id, TokenOrigin::kSampled, turn, policy_version);
  completion.sampler_logprobs.push_back(token.logprob);
  const bool has_sets = params.is_filtered() || params.min_tokens > 0 || params.constraint != nullptr;
  if (has_sets && request.keeps_sets) completion.kept_ids.push_back(std::move(token.kept_ids));
  if (params.constraint != nullptr) params.constraint->advance(constraint_state, token.id);
  return is_complete(token.id);
}

bool GrowingRequest::is_complete(int32_t id) {
  const SamplingParams& params = request.params;
  const auto& stops = params.stop_token_ids;
  const bool is_stop_token = !params.ignore_eos && std::find(stops.begin(), stops.end(), id) != stops.end();
  const bool is_over =
      params.constraint != nullptr && stops.empty() && params.constraint->is_over(constraint_state);
  if (completes_stop_string(id) || is_stop_token || is_over) {
    completion.finish_reason = FinishReason::kStop;
    return true;
  }
  completion.finish_reason = FinishReason::kLength;
  const int64_t length = std::ssize(completion.token_ids);
  return length >= max_length || length - turn_first >= params.max_turn_length;
}

bool GrowingRequest::completes_stop_string(int32_t id) {
  if (!detokenizer) return false;
  const SamplingParams& params = request.params;
  const size_t before = text.size();
  text += detokenizer->push(id);
  if (std::ssize(completion.token_ids) <= params.min_tokens) return false;
  size_t cut = std::string::npos;
  for (const std::string& stop : params.stop_strings) {
    const size_t from = before >= stop.size() ? before - stop.size() + 1 : 0;
    cut = std::min(cut, text.find(stop, std::max(from, turn_begin)));
  }
  if (cut == std::string::npos) return false;
  if (!params.include_stop_str_in_output) {
    text.resize(cut);
    is_text_cut = true;
  }
  return true;
}

void GrowingRequest::append_injected(std::span<const int32_t> ids, int64_t policy_version) {
  for (const int32_t id : ids) {
    completion.append(id, TokenOrigin::kInjected, turn, policy_version);
    if (detokenizer) text += detokenizer->push(id);
  }
  ++turn;
  turn_begin = text.size();
  turn_first = std::ssize(completion.token_ids);
  is_text_cut = false;
  constraint_state = {.is_first = false};
}

void GrowingRequest::begin_with(const Completion& other, int64_t num_tokens) {
  completion = first_tokens(other, num_tokens);
  completion.sample = static_cast<int64_t>(request.address.sample);
  const TokenSpan last = completion.spans.empty() ? TokenSpan{} : completion.spans.back();
  const bool begins_turn = last.origin == TokenOrigin::kInjected;
  turn = begins_turn ? last.turn + 1 : last.turn;
  turn_first = begins_turn ? num_tokens : last.first;
  for (int64_t i = 0; i < num_tokens; ++i) {
    if (i == turn_first) turn_begin = text.size();
    if (detokenizer) text += detokenizer->push(completion.token_ids[i]);
  }
  if (begins_turn) turn_begin = text.size();
  if (request.params.constraint == nullptr) return;
  constraint_state = {.is_first = turn_first == 0};
  for (const int32_t id : std::span(completion.token_ids).subspan(turn_first))
    request.params.constraint->advance(constraint_state, id);
}

void GrowingRequest::set_text(const Tokenizer* tokenizer) {
  const SamplingParams& params = request.params;
  if (is_text_cut) {
    completion.text = text;
  } else if (tokenizer != nullptr) {
    std::span<const int32_t> ids = completion.token_ids;
    const bool shows_end = params.include_stop_str_in_output || params.stop_token_ids.empty() ||
                           completion.finish_reason == FinishReason::kLength;
    completion.text = tokenizer->decode(shows_end ? ids : ids.first(ids.size() - 1), decode_options(params));
  }
}

}  // namespace cohort
