#include "cohort/sampler/sampling_pass.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "cohort/ops/token_logprobs.h"
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

}  // namespace

std::vector<Draw> SamplingPass::run(const std::vector<ScheduledRows>& rows) const {
  std::vector<Lane> lanes = cut_into_lanes(rows);
  const auto num_lanes = static_cast<int64_t>(lanes.size());
  at::parallel_for(0, num_lanes, 1, [&](int64_t begin, int64_t end) {
    std::optional<OneThread> one_thread;
    if (decoder_.is_small_to_sample()) one_thread.emplace();
    for (int64_t i = begin; i < end; ++i) forward(lanes[i], num_lanes);
  });
  std::vector<Draw> draws;
  for (Lane& lane : lanes) std::ranges::move(lane.draws, std::back_inserter(draws));
  return draws;
}

std::vector<SamplingPass::Lane> SamplingPass::cut_into_lanes(const std::vector<ScheduledRows>& rows) const {
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
void SamplingPass::forward(Lane& lane, int64_t num_lanes) const {
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

DecoderInput SamplingPass::lay_out(Lane& lane) const {
  std::vector<int64_t> token_ids, positions, cache_rows;
  std::vector<RowRange> results, recorded_rows;
  int64_t num_results = 0;
  DecoderInput input;
  input.plan.begin_group();
  for (const ScheduledRows& rows : lane.rows) {
    const auto& pages =
        rows.is_prompt ? scheduler_.prompt_pages(rows.index) : scheduler_.sequence_pages(rows.index);
    const int64_t sequence = rows.is_prompt ? scheduler_.sequences_of(rows.index).front() : rows.index;
    const GrowingRequest& growing = growing_[sequence];
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

std::vector<int64_t> SamplingPass::sequences_to_draw(const ScheduledRows& rows) const {
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

void SamplingPass::add_draws(const std::vector<int64_t>& sequences, int64_t row,
                             std::vector<Draw>& draws) const {
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

void SamplingPass::draw_tokens(const at::Tensor& hidden, std::span<Draw> draws) const {
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

SampledToken SamplingPass::draw_token(const GrowingRequest& growing, const float* logits) const {
  const auto& [seed, step, prompt, sample] = growing.request.address;
  const std::vector<int32_t>& so_far = growing.completion.token_ids;
  const double uniform = random_unit(seed, {step, prompt, sample, so_far.size()});
  const bool may_stop = std::ssize(so_far) >= growing.request.params.min_tokens;
  DrawContext context{growing.request.token_ids, so_far, may_stop ? nullptr : growing.without_stops};
  if (const auto& constraint = growing.request.params.constraint)
    context.allowed = constraint->allowed(growing.constraint_state, may_stop);
  return sample_token(logits, decoder_.config().vocab_size, growing.request.params, uniform, context);
}

}  // namespace cohort
