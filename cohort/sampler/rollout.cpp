#include "cohort/sampler/rollout.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/ops/token_logprobs.h"
#include "cohort/sampler/prompt_batches.h"
#include "cohort/tensor/one_thread.h"

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

}  // namespace

Rollout::Rollout(const Decoder& decoder, const Tokenizer* tokenizer, KvCache& cache,
                 const std::vector<Prompt>& prompts, const std::vector<int64_t>& group_sizes,
                 const SamplingParams& params, RolloutAddress address, int64_t policy_version,
                 int64_t num_pages, const OnCompletion& on_completion, ActivationRecord* record)
    : decoder_(decoder),
      tokenizer_(tokenizer),
      cache_(cache),
      prompts_(prompts),
      params_(params),
      address_(std::move(address)),
      on_completion_(on_completion),
      record_(record),
      scheduler_({.num_pages = num_pages, .max_positions = decoder.config().context_length},
                 lengths_of(prompts), group_sizes, params.max_completion_length),
      policy_version_(policy_version),
      growing_(scheduler_.numbers().size()) {
  COHORT_CHECK(address_.prompts.empty() || address_.prompts.size() == prompts.size());
  const SequenceNumbers& numbers = scheduler_.numbers();
  for (int64_t i = 0; i < numbers.size(); ++i) {
    const auto prompt_length = static_cast<int64_t>(prompts[numbers.prompt_of(i)].token_ids.size());
    growing_[i].completion.sample = static_cast<int64_t>(address_.first_sample) + numbers.sample_of(i);
    growing_[i].max_length =
        std::min(params.max_completion_length, decoder.config().context_length - prompt_length);
    if (!params.stop_strings.empty()) growing_[i].detokenizer.emplace(*tokenizer, decode_options());
  }
  if (params.min_tokens > 0) without_stops_ = ids_without(params.stop_token_ids, decoder.config().vocab_size);
  if (record_ != nullptr) assign_recorded_rows();
}

// As the trainer packs them when all completions take their full length: it then reads them in one piece, but
// for what the last layer has of result rows alone.
void Rollout::assign_recorded_rows() {
  COHORT_CHECK(record_->holds_for(decoder_));
  const SequenceNumbers& numbers = scheduler_.numbers();
  for (size_t p = 0; p < prompts_.size(); ++p) {
    const auto prompt = static_cast<int64_t>(p);
    const int64_t prompt_row = record_->take_rows(std::ssize(prompts_[p].token_ids));
    for (int64_t i = numbers.first(prompt); i < numbers.end(prompt); ++i)
      growing_[i].completion.recorded = {prompt_row, record_->take_rows(growing_[i].max_length - 1)};
  }
}

std::vector<Group> Rollout::run(SamplerStats& stats, const OnToken& on_token) {
  while (true) {
    const Schedule schedule = scheduler_.next();
    if (schedule.rows.empty()) break;
    for (const PageCopy& copy : schedule.copies) {
      cache_.copy_page(copy.source_page, copy.target_page);
    }
    const auto began = std::chrono::steady_clock::now();
    std::vector<Lane> lanes = cut_into_lanes(schedule.rows);
    const auto num_lanes = static_cast<int64_t>(lanes.size());
    at::parallel_for(0, num_lanes, 1, [&](int64_t begin, int64_t end) {
      std::optional<OneThread> one_thread;
      if (decoder_.is_small_to_sample()) one_thread.emplace();
      for (int64_t i = begin; i < end; ++i) forward(lanes[i], num_lanes);
    });
    scheduler_.advance(schedule);
    for (Lane& lane : lanes) {
      for (Draw& draw : lane.draws) {
        for (size_t i = 0; i < draw.sequences.size(); ++i)
          add_token(draw.sequences[i], std::move(draw.tokens[i]), on_token);
      }
    }
    ++stats.num_passes;
    bool has_prompt = false;
    for (const ScheduledRows& rows : schedule.rows) {
      (rows.is_prompt ? stats.prompt_rows : stats.completion_rows) += rows.count;
      has_prompt |= rows.is_prompt;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (!has_prompt) stats.decode_s += took.count();
  }
  stats.num_preemptions += scheduler_.num_preemptions();
  std::vector<Group> groups;
  for (size_t p = 0; p < prompts_.size(); ++p) {
    groups.push_back({prompts_[p], {}});
    const auto prompt = static_cast<int64_t>(p);
    for (int64_t i = scheduler_.numbers().first(prompt); i < scheduler_.numbers().end(prompt); ++i)
      groups.back().samples.push_back({std::move(growing_[i].completion)});
  }
  return groups;
}

const std::vector<int32_t>& Rollout::tokens_of(const ScheduledRows& rows, int64_t& offset) const {
  if (rows.is_prompt) {
    offset = rows.first_position;
    return prompts_[rows.index].token_ids;
  }
  const Prompt& prompt = prompts_[scheduler_.numbers().prompt_of(rows.index)];
  offset = rows.first_position - static_cast<int64_t>(prompt.token_ids.size());
  return growing_[rows.index].completion.token_ids;
}

std::vector<int64_t> Rollout::sequences_to_draw(const ScheduledRows& rows) const {
  if (!rows.reaches_end) return {};
  if (!rows.is_prompt) return {rows.index};
  // The first token of every completion; a prompt that was evicted and prefilled again has some already.
  std::vector<int64_t> sequences;
  const SequenceNumbers& numbers = scheduler_.numbers();
  for (int64_t index = numbers.first(rows.index); index < numbers.end(rows.index); ++index) {
    if (growing_[index].completion.token_ids.empty()) sequences.push_back(index);
  }
  return sequences;
}

std::vector<Rollout::Lane> Rollout::cut_into_lanes(const std::vector<ScheduledRows>& rows) const {
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

void Rollout::forward(Lane& lane, int64_t num_lanes) const {
  const at::NoGradGuard no_grad;  // holds for its own thread only
  const at::Tensor hidden = decoder_.forward(lay_out(lane));
  const auto num_draws = static_cast<int64_t>(lane.draws.size());
  const int64_t step = std::max<int64_t>(1, logit_rows_at_once(decoder_.config().vocab_size) / num_lanes);
  for (int64_t first = 0; first < num_draws; first += step) {
    draw_tokens(hidden, std::span(lane.draws).subspan(first, std::min(step, num_draws - first)));
  }
}

DecoderInput Rollout::lay_out(Lane& lane) const {
  std::vector<int64_t> token_ids, positions, cache_rows;
  std::vector<RowRange> results, recorded_rows;
  int64_t num_results = 0;
  DecoderInput input;
  input.plan.begin_group();
  for (const ScheduledRows& rows : lane.rows) {
    const auto& pages =
        rows.is_prompt ? scheduler_.prompt_pages(rows.index) : scheduler_.sequence_pages(rows.index);
    int64_t offset = 0;
    const std::vector<int32_t>& tokens = tokens_of(rows, offset);
    const auto begin = static_cast<int64_t>(token_ids.size()), end = begin + rows.count;
    const int64_t sequence = rows.is_prompt ? scheduler_.numbers().first(rows.index) : rows.index;
    const RecordedRows recorded = growing_[sequence].completion.recorded;
    const int64_t first_recorded = rows.is_prompt ? recorded.prompt : recorded.completion;
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t position = rows.first_position + i;
      token_ids.push_back(tokens[offset + i]);
      positions.push_back(position);
      cache_rows.push_back(pages[position / kPageRows] * kPageRows + position % kPageRows);
    }
    input.plan.add_sequence(begin, rows.count, rows.first_position, row_ranges(pages));
    // The last row's result is drawn from; an update reads those of all rows of a completion, too.
    const bool reads_all = record_ != nullptr && !rows.is_prompt;
    const RowRange read{reads_all ? begin : end - (rows.reaches_end ? 1 : 0), end};
    num_results += read.size();
    add_range(read, results);
    if (record_ != nullptr)
      add_range({first_recorded + offset, first_recorded + offset + rows.count}, recorded_rows);
    std::vector<int64_t> sequences = sequences_to_draw(rows);
    if (!sequences.empty()) lane.draws.push_back({num_results - 1, std::move(sequences), {}});
  }
  input.set_rows(token_ids, positions, decoder_.device());
  if (num_results < std::ssize(token_ids)) input.set_result_rows(std::move(results));
  if (record_ != nullptr) input.record_rows = input.in_record(std::move(recorded_rows));
  input.cache_rows = at::tensor(cache_rows, at::kLong).to(decoder_.device());
  input.cache = &cache_;
  input.record = record_;
  return input;
}

void Rollout::draw_tokens(const at::Tensor& hidden, std::span<Draw> draws) const {
  const int64_t vocabulary = decoder_.config().vocab_size;
  std::vector<int64_t> rows;
  for (const Draw& draw : draws) rows.push_back(draw.row);
  const at::Tensor input = decoder_.head_input(hidden, at::tensor(rows, at::kLong).to(hidden.device()));
  const LogitOptions options{.temperature = params_.logprob_temperature(),
                             .softcap = decoder_.config().final_softcap};
  const at::Tensor logits =
      scaled_logits(decoder_.head().product(input), options).to(at::kCPU, at::kFloat).contiguous();
  const float* data = logits.const_data_ptr<float>();
  at::parallel_for(0, std::ssize(draws), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (const int64_t sequence : draws[i].sequences) {
        const auto place = static_cast<uint64_t>(scheduler_.numbers().prompt_of(sequence));
        const uint64_t prompt =
            address_.prompts.empty() ? address_.first_prompt + place : address_.prompts[place];
        const Completion& completion = growing_[sequence].completion;
        const auto sample = static_cast<uint64_t>(completion.sample);
        const uint64_t position = completion.token_ids.size();
        const double uniform = random_unit(address_.seed, {address_.step, prompt, sample, position});
        const bool may_stop = std::ssize(completion.token_ids) >= params_.min_tokens;
        const DrawContext context{prompts_[place].token_ids, completion.token_ids,
                                  may_stop ? nullptr : without_stops_};
        draws[i].tokens.push_back(sample_token(data + i * vocabulary, vocabulary, params_, uniform, context));
      }
    }
  });
}

void Rollout::add_token(int64_t sequence, SampledToken token, const OnToken& on_token) {
  Growing& growing = growing_[sequence];
  Completion& completion = growing.completion;
  completion.append(token.id, TokenOrigin::kSampled, /*turn=*/0, policy_version_);
  completion.sampler_logprobs.push_back(token.logprob);
  if (params_.is_filtered() || params_.min_tokens > 0)
    completion.kept_ids.push_back(std::move(token.kept_ids));
  scheduler_.append_token(sequence);
  const bool is_last = is_complete(growing, token.id);
  const bool goes_on = !on_token || on_token(token.id);
  if (is_last || !goes_on) finish(sequence);
}

bool Rollout::is_complete(Growing& growing, int32_t id) {
  const auto& stops = params_.stop_token_ids;
  const bool is_stop_token = !params_.ignore_eos && std::find(stops.begin(), stops.end(), id) != stops.end();
  if (completes_stop_string(growing, id) || is_stop_token) {
    growing.completion.finish_reason = FinishReason::kStop;
    return true;
  }
  growing.completion.finish_reason = FinishReason::kLength;
  return static_cast<int64_t>(growing.completion.token_ids.size()) >= growing.max_length;
}

bool Rollout::completes_stop_string(Growing& growing, int32_t id) {
  if (!growing.detokenizer) return false;
  const size_t before = growing.text.size();
  growing.text += growing.detokenizer->push(id);
  if (std::ssize(growing.completion.token_ids) <= params_.min_tokens) return false;
  size_t cut = std::string::npos;
  for (const std::string& stop : params_.stop_strings) {
    const size_t from = before >= stop.size() ? before - stop.size() + 1 : 0;
    cut = std::min(cut, growing.text.find(stop, from));
  }
  if (cut == std::string::npos) return false;
  if (!params_.include_stop_str_in_output) {
    growing.text.resize(cut);
    growing.is_text_cut = true;
  }
  return true;
}

void Rollout::finish(int64_t sequence) {
  Growing& growing = growing_[sequence];
  Completion& completion = growing.completion;
  if (growing.is_text_cut) {
    completion.text = std::move(growing.text);
  } else if (tokenizer_ != nullptr) {
    std::span<const int32_t> ids = completion.token_ids;
    const bool shows_end =
        params_.include_stop_str_in_output || completion.finish_reason == FinishReason::kLength;
    completion.text = tokenizer_->decode(shows_end ? ids : ids.first(ids.size() - 1), decode_options());
  }
  scheduler_.finish(sequence);
  const SequenceNumbers& numbers = scheduler_.numbers();
  if (on_completion_) on_completion_(numbers.prompt_of(sequence), numbers.sample_of(sequence), completion);
}

}  // namespace cohort
