#include "cohort/sampler/engine.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>

#include "cohort/core/error.h"
#include "cohort/ops/token_logprobs.h"
#include "cohort/sampler/request_checks.h"
#include "cohort/tensor/one_thread.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

/// A pass of a small model is cut into lanes of at least this many rows.
constexpr int64_t kLaneRows = 16;

static_assert(kPageRows == kKeyBlock);

std::vector<RowRange> row_ranges(const std::vector<int64_t>& pages) {
  std::vector<RowRange> ranges;
  ranges.reserve(pages.size());
  for (const int64_t page : pages) ranges.push_back({page * kPageRows, (page + 1) * kPageRows});
  return ranges;
}

/// All ids of the vocabulary but `stops`.
KeptIds ids_without(const std::vector<int32_t>& stops, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocabulary; ++id) {
    if (std::find(stops.begin(), stops.end(), id) == stops.end()) ids.push_back(id);
  }
  return std::make_shared<const std::vector<int32_t>>(std::move(ids));
}

DecodeOptions decode_options(const SamplingParams& params) {
  return {.skip_special_tokens = params.skip_special_tokens};
}

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

void Engine::extend(RequestId id, std::vector<int32_t> token_ids) {
  check_token_ids({token_ids.begin(), token_ids.end()}, "token_ids", decoder_.config());
  const std::lock_guard lock(mutex_);
  check_held(id);
  calls_.emplace_back(Extension{id, std::move(token_ids)});
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
  Growing& growing = start(sequence, addition.id, std::move(addition.request));
  growing.completion.sample = static_cast<int64_t>(growing.request.address.sample);
  growing.recorded = recorded;
}

Engine::Growing& Engine::start(int64_t sequence, RequestId id, Request request) {
  if (sequence >= std::ssize(growing_)) growing_.resize(sequence + 1);
  sequences_[id] = sequence;
  Growing& growing = growing_[sequence];
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
  Growing& growing = growing_[found->second];
  Completion& completion = growing.completion;
  const auto count = std::ssize(extension.token_ids);
  if (std::ssize(completion.token_ids) + count >= growing.max_length) {
    completion.finish_reason = FinishReason::kLength;
    end(found->second);
    return;
  }
  for (const int32_t id : extension.token_ids) {
    completion.append(id, TokenOrigin::kInjected, growing.turn, policy_version_);
    if (growing.detokenizer) growing.text += growing.detokenizer->push(id);
  }
  ++growing.turn;
  growing.turn_begin = growing.text.size();
  growing.is_text_cut = false;
  scheduler_.append_tokens(found->second, count);
  if (!growing.is_ended) return;
  growing.is_ended = false;
  scheduler_.resume(found->second);
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
  Growing& growing = start(sequence, fork.id, std::move(request));
  growing.completion = first_tokens(growing_[source].completion, fork.num_tokens);
  growing.completion.sample = static_cast<int64_t>(fork.address.sample);
  growing.turn = growing.completion.spans.empty() ? 0 : growing.completion.spans.back().turn;
  for (const int32_t id : growing.completion.token_ids) {
    if (growing.detokenizer) growing.text += growing.detokenizer->push(id);
  }
  growing.turn_begin = growing.text.size();
}

void Engine::take(RequestId cancelled) {
  if (const auto found = sequences_.find(cancelled); found != sequences_.end()) remove(found->second);
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
  std::vector<Lane> lanes = cut_into_lanes(schedule.rows);
  const auto num_lanes = static_cast<int64_t>(lanes.size());
  at::parallel_for(0, num_lanes, 1, [&](int64_t begin, int64_t end) {
    std::optional<OneThread> one_thread;
    if (decoder_.is_small_to_sample()) one_thread.emplace();
    for (int64_t i = begin; i < end; ++i) forward(lanes[i], num_lanes);
  });
  scheduler_.advance(schedule);
  add_tokens(lanes);
  ++stats_.num_passes;
  bool has_prompt = false;
  for (const ScheduledRows& rows : schedule.rows) {
    (rows.is_prompt ? stats_.prompt_rows : stats_.completion_rows) += rows.count;
    has_prompt |= rows.is_prompt;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  if (!has_prompt) stats_.decode_s += took.count();
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

std::vector<int64_t> Engine::sequences_to_draw(const ScheduledRows& rows) const {
  if (!rows.reaches_end) return {};
  if (!rows.is_prompt) return {rows.index};
  // The first token of every completion; a prompt that was evicted and prefilled again has some already.
  std::vector<int64_t> sequences;
  for (const int64_t sequence : scheduler_.sequences_of(rows.index)) {
    if (growing_[sequence].completion.token_ids.empty() && !growing_[sequence].is_ended)
      sequences.push_back(sequence);
  }
  return sequences;
}

std::vector<Engine::Lane> Engine::cut_into_lanes(const std::vector<ScheduledRows>& rows) const {
  int64_t total = 0;
  for (const ScheduledRows& scheduled : rows) total += scheduled.count;
  const int64_t most = decoder_.is_small_to_sample() ? at::get_num_threads() : 1;
  const int64_t num_lanes = std::clamp(total / kLaneRows, int64_t{1}, most);
  std::vector<Lane> lanes;
  auto first = rows.begin();
  int64_t laid = 0;
  for (auto last = first; last != rows.end();) {
    laid += (last++)->count;
    if (laid * num_lanes < total * (std::ssize(lanes) + 1)) continue;
    lanes.push_back({{first, last}, {}});
    first = last;
  }
  return lanes;
}

// Log-probabilities are at the temperature of the request, so the draws of one temperature go together.
void Engine::forward(Lane& lane, int64_t num_lanes) {
  const at::NoGradGuard no_grad;  // holds for its own thread only
  const at::Tensor hidden = decoder_.forward(lay_out(lane));
  std::ranges::stable_sort(lane.draws, {}, &Draw::temperature);
  const int64_t step = std::max<int64_t>(1, logit_rows_at_once(decoder_.config().vocab_size) / num_lanes);
  std::span<Draw> left(lane.draws);
  while (!left.empty()) {
    const auto same = std::ranges::find_if(
        left, [&](const Draw& draw) { return draw.temperature != left.front().temperature; });
    const auto count = static_cast<size_t>(std::min<int64_t>(step, same - left.begin()));
    draw_tokens(hidden, left.first(count));
    left = left.subspan(count);
  }
}

DecoderInput Engine::lay_out(Lane& lane) {
  std::vector<int64_t> token_ids, positions, cache_rows;
  std::vector<RowRange> results, recorded_rows;
  int64_t num_results = 0;
  DecoderInput input;
  input.plan.begin_group();
  for (const ScheduledRows& rows : lane.rows) {
    const auto& pages =
        rows.is_prompt ? scheduler_.prompt_pages(rows.index) : scheduler_.sequence_pages(rows.index);
    const int64_t sequence = rows.is_prompt ? scheduler_.sequences_of(rows.index).front() : rows.index;
    const Growing& growing = growing_[sequence];
    const std::vector<int32_t>&prompt = growing.request.token_ids, &completion = growing.completion.token_ids;
    const auto prompt_length = std::ssize(prompt);
    const auto begin = std::ssize(token_ids), end = begin + rows.count;
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t position = rows.first_position + i, place = position - prompt_length;
      token_ids.push_back(place < 0 ? prompt[position] : completion[place]);
      positions.push_back(position);
      cache_rows.push_back(pages[position / kPageRows] * kPageRows + position % kPageRows);
    }
    input.plan.add_sequence(begin, rows.count, rows.first_position, row_ranges(pages));
    // The last row's result is drawn from; an update reads those of all rows of a completion, too.
    const bool reads_all = growing.recorded && !rows.is_prompt;
    const RowRange read{reads_all ? begin : end - (rows.reaches_end ? 1 : 0), end};
    num_results += read.size();
    add_range(read, results);
    if (growing.recorded) {
      const int64_t first = rows.is_prompt
                                ? growing.recorded->prompt + rows.first_position
                                : growing.recorded->completion + rows.first_position - prompt_length;
      add_range({first, first + rows.count}, recorded_rows);
    }
    add_draws(sequences_to_draw(rows), num_results - 1, lane.draws);
  }
  input.set_rows(token_ids, positions, decoder_.device());
  if (num_results < std::ssize(token_ids)) input.set_result_rows(std::move(results));
  std::unique_ptr<LayerStore> record;
  if (!recorded_rows.empty())
    record = std::make_unique<WrittenLayers>(*record_, input.in_record(std::move(recorded_rows)));
  input.store = std::make_shared<CachedLayers>(
      cache_, at::tensor(cache_rows, at::kLong).to(decoder_.device()), std::move(record));
  return input;
}

void Engine::add_draws(const std::vector<int64_t>& sequences, int64_t row, std::vector<Draw>& draws) const {
  const auto first = std::ssize(draws);
  for (const int64_t sequence : sequences) {
    const double temperature = growing_[sequence].request.params.logprob_temperature();
    const auto known = std::find_if(draws.begin() + first, draws.end(),
                                    [&](const Draw& draw) { return draw.temperature == temperature; });
    if (known != draws.end()) {
      known->sequences.push_back(sequence);
    } else {
      draws.push_back({row, temperature, {sequence}, {}});
    }
  }
}

void Engine::draw_tokens(const at::Tensor& hidden, std::span<Draw> draws) const {
  const int64_t vocabulary = decoder_.config().vocab_size;
  std::vector<int64_t> rows;
  rows.reserve(draws.size());
  for (const Draw& draw : draws) rows.push_back(draw.row);
  const at::Tensor input = decoder_.head_input(hidden, at::tensor(rows, at::kLong).to(hidden.device()));
  const LogitOptions options{.temperature = draws.front().temperature,
                             .softcap = decoder_.config().final_softcap};
  const at::Tensor logits =
      scaled_logits(decoder_.head().product(input), options).to(at::kCPU, at::kFloat).contiguous();
  const float* data = logits.const_data_ptr<float>();
  at::parallel_for(0, std::ssize(draws), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (const int64_t sequence : draws[i].sequences)
        draws[i].tokens.push_back(draw_token(growing_[sequence], data + i * vocabulary));
    }
  });
}

SampledToken Engine::draw_token(const Growing& growing, const float* logits) const {
  const auto& [seed, step, prompt, sample] = growing.request.address;
  const std::vector<int32_t>& so_far = growing.completion.token_ids;
  const double uniform = random_unit(seed, {step, prompt, sample, so_far.size()});
  const bool may_stop = std::ssize(so_far) >= growing.request.params.min_tokens;
  const DrawContext context{growing.request.token_ids, so_far, may_stop ? nullptr : growing.without_stops};
  return sample_token(logits, decoder_.config().vocab_size, growing.request.params, uniform, context);
}

void Engine::add_tokens(std::vector<Lane>& lanes) {
  for (Lane& lane : lanes) {
    for (Draw& draw : lane.draws) {
      for (size_t i = 0; i < draw.sequences.size(); ++i)
        add_token(draw.sequences[i], std::move(draw.tokens[i]));
    }
  }
}

void Engine::add_token(int64_t sequence, SampledToken token) {
  Growing& growing = growing_[sequence];
  const SamplingParams& params = growing.request.params;
  Completion& completion = growing.completion;
  completion.append(token.id, TokenOrigin::kSampled, growing.turn, policy_version_);
  completion.sampler_logprobs.push_back(token.logprob);
  if (params.is_filtered() || params.min_tokens > 0) completion.kept_ids.push_back(std::move(token.kept_ids));
  scheduler_.append_tokens(sequence, 1);
  const bool is_last = is_complete(growing, token.id);
  const bool goes_on = !growing.request.on_token || growing.request.on_token(token.id);
  if (is_last || !goes_on) end(sequence);
}

bool Engine::is_complete(Growing& growing, int32_t id) {
  const SamplingParams& params = growing.request.params;
  const auto& stops = params.stop_token_ids;
  const bool is_stop_token = !params.ignore_eos && std::find(stops.begin(), stops.end(), id) != stops.end();
  if (completes_stop_string(growing, id) || is_stop_token) {
    growing.completion.finish_reason = FinishReason::kStop;
    return true;
  }
  growing.completion.finish_reason = FinishReason::kLength;
  return std::ssize(growing.completion.token_ids) >= growing.max_length;
}

bool Engine::completes_stop_string(Growing& growing, int32_t id) {
  if (!growing.detokenizer) return false;
  const SamplingParams& params = growing.request.params;
  const size_t before = growing.text.size();
  growing.text += growing.detokenizer->push(id);
  if (std::ssize(growing.completion.token_ids) <= params.min_tokens) return false;
  size_t cut = std::string::npos;
  for (const std::string& stop : params.stop_strings) {
    const size_t from = before >= stop.size() ? before - stop.size() + 1 : 0;
    cut = std::min(cut, growing.text.find(stop, std::max(from, growing.turn_begin)));
  }
  if (cut == std::string::npos) return false;
  if (!params.include_stop_str_in_output) {
    growing.text.resize(cut);
    growing.is_text_cut = true;
  }
  return true;
}

void Engine::end(int64_t sequence) {
  Growing& growing = growing_[sequence];
  const SamplingParams& params = growing.request.params;
  Completion& completion = growing.completion;
  growing.is_ended = true;
  if (growing.is_text_cut) {
    completion.text = growing.text;
  } else if (tokenizer_ != nullptr) {
    std::span<const int32_t> ids = completion.token_ids;
    const bool shows_end =
        params.include_stop_str_in_output || completion.finish_reason == FinishReason::kLength;
    completion.text = tokenizer_->decode(shows_end ? ids : ids.first(ids.size() - 1), decode_options(params));
  }
  if (growing.recorded) record_->add(growing.request.token_ids, completion.token_ids, *growing.recorded);
  scheduler_.hold(sequence);
  if (growing.request.on_end) growing.request.on_end(growing.id, completion);
  if (!growing.request.is_held) remove(sequence);
}

void Engine::remove(int64_t sequence) {
  Growing& growing = growing_[sequence];
  sequences_.erase(growing.id);
  std::span<const int32_t> known;
  if (growing.request.caches_completion) known = growing.completion.token_ids;
  scheduler_.remove(sequence, known);
  growing = {};
}

}  // namespace cohort
