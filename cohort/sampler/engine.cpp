#include "cohort/sampler/engine.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/sampler/request_checks.h"
#include "cohort/sampler/sampling_pass.h"

namespace cohort {
namespace {

/// All ids of the vocabulary but `stops`.
KeptIds ids_without(const std::vector<int32_t>& stops, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocabulary; ++id) {
    if (std::find(stops.begin(), stops.end(), id) == stops.end()) ids.push_back(id);
  }
  return std::make_shared<const std::vector<int32_t>>(std::move(ids));
}

}  // namespace

Engine::Engine(const Decoder& decoder, const Tokenizer* tokenizer, int64_t num_pages)
    : decoder_(decoder),
      tokenizer_(tokenizer),
      num_pages_(num_pages),
      cache_(decoder.config(), num_pages, decoder.compute_dtype(), decoder.device()),
      scheduler_({.num_pages = num_pages, .max_positions = decoder.config().context_length}),
      weights_version_(decoder.weights_version()) {}

RequestId Engine::add(Request request) {
  check_prompt("the prompt", request.token_ids, decoder_.config());
  scheduler_.check_fits(std::ssize(request.token_ids), request.params.max_completion_length);
  const std::lock_guard lock(mutex_);
  // The check reads the whole vocabulary; requests often come with the same stop strings.
  if (std::pair settings(request.params.stop_strings, request.params.skip_special_tokens);
      settings != checked_stops_) {
    check_stop_strings(settings.first, tokenizer_, settings.second);
    checked_stops_ = std::move(settings);
  }
  const RequestId id = next_id_++;
  if (request.is_held) held_.insert(id);
  calls_.emplace_back(Addition{id, std::move(request)});
  return id;
}

void Engine::extend(RequestId id, std::vector<int32_t> token_ids, std::optional<int64_t> max_turn_length) {
  check_token_ids({token_ids.begin(), token_ids.end()}, "token_ids", decoder_.config());
  const std::lock_guard lock(mutex_);
  check_held(id);
  calls_.emplace_back(Extension{id, std::move(token_ids), max_turn_length});
}

void Engine::resume(RequestId id, int64_t max_turn_length) {
  const std::lock_guard lock(mutex_);
  check_held(id);
  calls_.emplace_back(Resumption{id, max_turn_length});
}

RequestId Engine::fork(RequestId of, int64_t num_tokens, DrawAddress address) {
  const std::lock_guard lock(mutex_);
  check_held(of);
  const RequestId id = next_id_++;
  held_.insert(id);
  calls_.emplace_back(Fork{id, of, num_tokens, address});
  return id;
}

void Engine::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  held_.erase(id);
  calls_.emplace_back(id);
}

void Engine::check_held(RequestId id) const {
  if (!held_.contains(id))
    throw UserError(str("request ", id, " is not held: it was cancelled or not added so"));
}

void Engine::take_calls() {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  for (Call& call : calls) std::visit([&](auto& each) { take(each); }, call);
}

void Engine::take(Addition& addition) {
  const Request& request = addition.request;
  std::optional<RecordedRows> recorded;
  if (record_ != nullptr) {
    const int64_t room = decoder_.config().context_length - std::ssize(request.token_ids);
    recorded = record_->reserve(request.token_ids, std::min(request.params.max_completion_length, room));
  }
  const int64_t owner = recorded ? recorded->prompt : -1;  // the prompt is forwarded whole for the record
  const int64_t sequence = scheduler_.add(request.token_ids, owner);
  GrowingRequest& growing = start(sequence, addition.id, std::move(addition.request));
  growing.completion.sample = static_cast<int64_t>(growing.request.address.sample);
  growing.recorded = recorded;
}

GrowingRequest& Engine::start(int64_t sequence, RequestId id, Request request) {
  if (sequence >= std::ssize(growing_)) growing_.resize(sequence + 1);
  sequences_[id] = sequence;
  GrowingRequest& growing = growing_[sequence];
  growing = {.id = id, .request = std::move(request)};
  const SamplingParams& params = growing.request.params;
  growing.max_length = std::min(params.max_completion_length,
                                decoder_.config().context_length - std::ssize(growing.request.token_ids));
  if (!params.stop_strings.empty()) growing.detokenizer.emplace(*tokenizer_, decode_options(params));
  if (params.min_tokens > 0) {
    KeptIds& ids = without_stops_[params.stop_token_ids];
    if (ids == nullptr) ids = ids_without(params.stop_token_ids, decoder_.config().vocab_size);
    growing.without_stops = ids;
  }
  return growing;
}

void Engine::take(Extension& extension) {
  const auto found = sequences_.find(extension.id);
  if (found == sequences_.end()) return;  // a callback has cancelled it
  GrowingRequest& growing = growing_[found->second];
  const auto count = std::ssize(extension.token_ids);
  if (extension.max_turn_length) growing.request.params.max_turn_length = *extension.max_turn_length;
  if (std::ssize(growing.completion.token_ids) + count >= growing.max_length) {
    growing.completion.finish_reason = FinishReason::kLength;
    end(found->second);
    return;
  }
  growing.append_injected(extension.token_ids, policy_version_);
  scheduler_.append_tokens(found->second, count);
  go_on(found->second);
}

void Engine::take(const Resumption& resumption) {
  const auto found = sequences_.find(resumption.id);
  if (found == sequences_.end()) return;  // a callback has cancelled it
  growing_[found->second].request.params.max_turn_length = resumption.max_turn_length;
  go_on(found->second);
}

/// A request that has ended runs again.
void Engine::go_on(int64_t sequence) {
  if (!growing_[sequence].is_ended) return;
  growing_[sequence].is_ended = false;
  scheduler_.resume(sequence);
}

void Engine::take(Fork& fork) {
  const int64_t source = sequences_.at(fork.of);
  const auto num_tokens = std::ssize(growing_[source].completion.token_ids);
  if (fork.num_tokens > num_tokens) {
    throw UserError(str("fork at ", fork.num_tokens, ": request ", fork.of, " has ", num_tokens, " tokens"));
  }
  Request request = growing_[source].request;
  request.address = fork.address;
  const int64_t sequence = scheduler_.fork(source, fork.num_tokens);
  GrowingRequest& growing = start(sequence, fork.id, std::move(request));
  growing.begin_with(growing_[source].completion, fork.num_tokens);
}

void Engine::take(RequestId cancelled) {
  if (const auto found = sequences_.find(cancelled); found != sequences_.end()) remove(found->second);
}

void Engine::set_record(ActivationRecord* record) {
  if (record == record_) return;
  for (const GrowingRequest& growing : growing_) {
    COHORT_CHECK(!growing.recorded, "request ", growing.id,
                 " has places in the engine's record until it ends");
  }
  record_ = record;
}

bool Engine::step() {
  take_calls();
  if (weights_version_ != decoder_.weights_version()) {
    weights_version_ = decoder_.weights_version();
    scheduler_.drop_cache();
  }
  const Schedule schedule = scheduler_.next();
  if (schedule.rows.empty()) return has_calls();
  for (const PageCopy& copy : schedule.copies) cache_.copy_page(copy.source_page, copy.target_page);
  const auto began = std::chrono::steady_clock::now();
  const SamplingPass pass(decoder_, scheduler_, growing_, cache_, record_);
  std::vector<Draw> draws = pass.run(schedule.rows);
  scheduler_.advance(schedule);
  for (Draw& draw : draws) {
    for (size_t i = 0; i < draw.sequences.size(); ++i)
      add_token(draw.sequences[i], std::move(draw.tokens[i]));
  }
  ++stats_.num_passes;
  bool has_prompt = false;
  for (const ScheduledRows& rows : schedule.rows) {
    (rows.is_prompt ? stats_.prompt_rows : stats_.completion_rows) += rows.count;
    has_prompt |= rows.is_prompt;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  (has_prompt ? stats_.prefill_s : stats_.decode_s) += took.count();
  return true;
}

bool Engine::has_calls() {
  const std::lock_guard lock(mutex_);
  return !calls_.empty();
}

SamplerStats Engine::take_stats() {
  SamplerStats stats = stats_;
  stats.num_preemptions = scheduler_.num_preemptions() - num_preemptions_;
  num_preemptions_ = scheduler_.num_preemptions();
  stats_ = {};
  return stats;
}

void Engine::add_token(int64_t sequence, SampledToken token) {
  GrowingRequest& growing = growing_[sequence];
  const bool goes_on = !growing.request.on_token || growing.request.on_token(token);
  const bool is_last = growing.append_sampled(std::move(token), policy_version_);
  scheduler_.append_tokens(sequence, 1);
  if (is_last || !goes_on) end(sequence);
}

void Engine::end(int64_t sequence) {
  GrowingRequest& growing = growing_[sequence];
  growing.is_ended = true;
  growing.set_text(tokenizer_);
  if (growing.recorded)
    record_->add(growing.request.token_ids, growing.completion.token_ids, *growing.recorded);
  scheduler_.hold(sequence);
  if (growing.request.on_end) growing.request.on_end(growing.id, growing.completion);
  if (!growing.request.is_held) remove(sequence);
}

void Engine::remove(int64_t sequence) {
  GrowingRequest& growing = growing_[sequence];
  sequences_.erase(growing.id);
  std::span<const int32_t> known;
  if (growing.request.caches_completion) known = growing.completion.token_ids;
  scheduler_.remove(sequence, known);
  growing = {};
}

}  // namespace cohort
