#include "cohort/serve/answer_task.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/http/error_json.h"
#include "cohort/serve/api/request_fields.h"

namespace cohort {
namespace {

/// The stop string that ended a text, which is the first one in it.
std::string stop_string_of(const std::string& text, const std::vector<std::string>& stops) {
  std::string found;
  size_t first = std::string::npos;
  for (const std::string& stop : stops) {
    if (const size_t at = text.find(stop); at < first) {
      first = at;
      found = stop;
    }
  }
  return found;
}

}  // namespace

AnswerTask::AnswerTask(ModelService& service, const ServedModel& model, ServerCounts& counts, ApiCall call)
    : service_(service),
      model_(model),
      counts_(counts),
      request_(std::move(call.request)),
      path_(std::move(call.path)),
      answer_(std::move(call.answer)),
      number_(call.number) {
  ++counts_.num_running;
}

AnswerTask::~AnswerTask() { --counts_.num_running; }

void AnswerTask::start() {
  const GenerationRequest& wanted = request_.generation;
  const SamplingParams& params = wanted.params;
  drawings_.resize(wanted.prompts.size() * wanted.num_choices);
  ids_ = std::vector<std::atomic<RequestId>>(drawings_.size());
  for (std::atomic<RequestId>& id : ids_) id = -1;
  prompt_tokens_.resize(wanted.prompts.size());
  num_left_ = drawings_.size() + (wanted.wants_prompt_logprobs ? wanted.prompts.size() : 0);
  for (Drawing& drawing : drawings_) {
    if (!wanted.is_stream) continue;
    drawing.text.emplace(*model_.tokenizer, params.stop_strings,
                         DecodeOptions{.skip_special_tokens = params.skip_special_tokens});
    if (wanted.is_chat)
      drawing.message.emplace(*model_.calls, !wanted.tools.is_null(), wanted.opens_reasoning);
  }
  const auto self = shared_from_this();
  const auto seed = static_cast<uint64_t>(wanted.seed.value_or(number_));
  try {
    for (size_t place = 0; place < drawings_.size(); ++place) {
      const size_t prompt = place / wanted.num_choices;
      // A request with a seed gives the same choices at any time; others differ by the request's number.
      const DrawAddress address{.seed = seed,
                                .step = wanted.seed ? 1u : 0u,
                                .prompt = prompt,
                                .sample = place % wanted.num_choices};
      ids_[place] = service_.add(
          {.token_ids = wanted.prompts[prompt],
           .params = params,
           .address = address,
           .on_token = [self, place](const SampledToken& token) { return self->take_token(place, token); },
           .on_end = [self, place](RequestId,
                                   const Completion& completion) { self->take_end(place, completion); },
           .keeps_sets = false,
           .caches_completion = wanted.is_chat});
      counts_.prompt_tokens += std::ssize(wanted.prompts[prompt]);
    }
  } catch (...) {
    cancel();
    throw;
  }
  for (size_t prompt = 0; wanted.wants_prompt_logprobs && prompt < wanted.prompts.size(); ++prompt) {
    service_.post([self, prompt] {
      self->guarded([&] {
        const GenerationRequest& scored = self->request_.generation;
        self->prompt_tokens_[prompt] =
            prompt_logprobs(self->service_.decoder(), scored.prompts[prompt], scored.params.num_top_logprobs);
        self->finish_one();
      });
    });
  }
  answer_->on_close([self] { self->cancel(); });
}

void AnswerTask::cancel() {
  if (is_over_.exchange(true)) return;
  for (const std::atomic<RequestId>& id : ids_) {
    if (id != -1) service_.cancel(id);
  }
}

/// An error on the thread that draws ends this request alone.
void AnswerTask::guarded(const std::function<void()>& work) {
  if (is_over_) return;
  try {
    work();
  } catch (const std::exception& fault) {
    log_warn("request ", number_, " failed: ", fault.what());
    const Json error = error_json(path_, str("the request failed: ", fault.what()), 500);
    if (request_.generation.is_stream) {
      answer_->write(server_sent_event(error, error.value("type", "")));
      answer_->end_stream();
    } else {
      answer_->send(500, to_json_text(error));
    }
    cancel();
  }
}

bool AnswerTask::take_token(size_t place, const SampledToken& token) {
  guarded([&] {
    if (!std::isfinite(token.logprob))
      throw FormatError("the model's log-probabilities are not finite: its weights hold NaN or overflow");
    ++counts_.completion_tokens;
    Drawing& drawing = drawings_[place];
    drawing.choice.tokens.push_back(token);
    drawing.choice.tokens.back().kept_ids = nullptr;  // no answer has it, and it may be large
    if (!drawing.text) return;
    // The text of a stop token belongs to no answer.
    const std::vector<int32_t>& stops = request_.generation.params.stop_token_ids;
    const bool is_stop = std::ranges::find(stops, token.id) != stops.end();
    write_text(place, is_stop ? std::string() : drawing.text->push(token.id), &token);
  });
  return !is_over_;
}

void AnswerTask::write(const std::string& events) {
  if (!std::exchange(has_begun_, true)) answer_->write(request_.writer->begin());
  if (!events.empty()) answer_->write(events);
}

void AnswerTask::write_text(size_t place, const std::string& text, const SampledToken* token) {
  Drawing& drawing = drawings_[place];
  std::vector<MessageStream::Part> parts;
  if (drawing.message) {
    parts = drawing.message->push(text);
  } else if (!text.empty()) {
    parts.push_back({text, false});
  }
  if (parts.empty()) parts.push_back({"", false});  // the token itself may be wanted
  for (const MessageStream::Part& part : parts)
    write(request_.writer->piece(place, {part.text, part.is_reasoning, std::exchange(token, nullptr)}));
}

void AnswerTask::take_end(size_t place, const Completion& completion) {
  guarded([&] {
    Drawing& drawing = drawings_[place];
    Choice& choice = drawing.choice;
    const GenerationRequest& wanted = request_.generation;
    choice.finish_reason = completion.finish_reason;
    choice.text = completion.text;
    const std::vector<int32_t>& stops = wanted.params.stop_token_ids;
    if (choice.finish_reason == FinishReason::kStop &&
        std::ranges::find(stops, completion.token_ids.back()) == stops.end()) {
      choice.stop_string =
          stop_string_of(model_.tokenizer->decode(completion.token_ids,
                                                  {.skip_special_tokens = wanted.params.skip_special_tokens}),
                         wanted.params.stop_strings);
    }
    if (drawing.text) {
      const std::string rest = drawing.text->finish(choice.text);
      if (!rest.empty()) write_text(place, rest, nullptr);
    }
    if (wanted.is_chat) read_turn(place);
    if (wanted.is_stream) write(request_.writer->end(place, choice));
    finish_one();
  });
}

/// Reads the text of a turn and streams what is left of its reasoning and content.
void AnswerTask::read_turn(size_t place) {
  Drawing& drawing = drawings_[place];
  const GenerationRequest& wanted = request_.generation;
  drawing.choice.message = read_turn_text(model_, wanted, drawing.choice.text, number_, place);
  if (!drawing.message) return;
  for (MessageStream::Part& part : drawing.message->finish(drawing.choice.message))
    write(request_.writer->piece(place, {std::move(part.text), part.is_reasoning, nullptr}));
}

void AnswerTask::finish_one() {
  if (--num_left_ == 0) finish();
}

void AnswerTask::finish() {
  const GenerationRequest& wanted = request_.generation;
  std::vector<Choice> choices;
  for (size_t place = 0; place < drawings_.size(); ++place) {
    Choice choice = std::move(drawings_[place].choice);
    if (wanted.echoes) {
      const size_t prompt = place / wanted.num_choices;
      const std::vector<int32_t>& ids = wanted.prompts[prompt];
      choice.text.insert(
          0, model_.tokenizer->decode(ids, {.skip_special_tokens = wanted.params.skip_special_tokens}));
      choice.num_echoed = std::ssize(ids);
      std::vector<SampledToken> echoed = prompt_tokens_[prompt];
      for (size_t i = echoed.size(); i < ids.size(); ++i) echoed.push_back({ids[i], 0.0f, nullptr});
      choice.tokens.insert(choice.tokens.begin(), echoed.begin(), echoed.end());
    }
    choices.push_back(std::move(choice));
  }
  is_over_ = true;
  if (wanted.is_stream) {
    write(request_.writer->finish(choices));
    answer_->end_stream();
  } else {
    answer_->send(200, to_json_text(request_.writer->whole(choices)));
  }
}

}  // namespace cohort
