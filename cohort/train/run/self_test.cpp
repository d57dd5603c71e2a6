#include "cohort/train/run/self_test.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/sampler/sampler.h"
#include "cohort/train/run/packing.h"

namespace cohort {
namespace {

constexpr int64_t kGenerations = 2;
constexpr int64_t kCompletionLength = 6;

std::vector<Prompt> probe_prompts(const DecoderConfig& config) {
  std::vector<Prompt> prompts;
  for (const int64_t length : {3, 20, 70}) {
    const int64_t room = config.context_length - kCompletionLength;
    prompts.emplace_back();
    for (int64_t i = 0; i < std::clamp<int64_t>(length, 1, std::max<int64_t>(1, room)); ++i) {
      prompts.back().token_ids.push_back(static_cast<int32_t>((i * 7919 + length) % config.vocab_size));
    }
  }
  return prompts;
}

}  // namespace

void report_exactness(double difference) {
  if (difference == 0.0) {
    log_info("sampler and trainer agree exactly");
  } else if (!std::isfinite(difference)) {
    throw FormatError("the model's log-probabilities are not finite: its weights hold NaN or overflow");
  } else {
    log_warn("this platform is not exact: log-probabilities of sampler and trainer differ by up to ",
             difference);
  }
}

bool agrees_with_record(const Decoder& decoder, const ActivationRecord& record, const Prompt& prompt,
                        const Completion& completion) {
  const at::NoGradGuard no_grad;
  const auto batch =
      pack({{&prompt.token_ids, {&completion}}}, decoder.options(), /*repeats_prompt=*/false, &record);
  const auto sampled = std::dynamic_pointer_cast<RecordedLayers>(batch->input.store);
  COHORT_CHECK(sampled != nullptr, "the completion is not recorded");
  const int64_t num_rows = batch->input.token_ids.size(0);
  ActivationRecord anew(record.parts());
  anew.begin(decoder, num_rows);
  const auto written = std::make_shared<WrittenLayers>(anew, batch->input.in_record({{0, num_rows}}));
  batch->input.store = written;
  decoder.forward(batch->input);
  return record.has_same(sampled->rows(), anew, written->rows());
}

double sampler_trainer_difference(const Decoder& decoder) {
  const at::NoGradGuard no_grad;
  Sampler sampler(decoder, nullptr, 0);
  SamplingParams params;
  params.max_completion_length = kCompletionLength;
  params.ignore_eos = true;
  const auto groups = sampler.rollout(probe_prompts(decoder.config()), kGenerations, params, {});
  double largest = 0.0;
  for (const Group& group : groups) {
    PackGroup packed{&group.prompt.token_ids, {}};
    for (const Sample& sample : group.samples) packed.completions.push_back(&sample.completion);
    const auto batch = pack({packed}, decoder.options());
    const at::Tensor logprobs = packed_logprobs(decoder, *batch, 1.0).logprobs.cpu().to(at::kFloat);
    const float* value = logprobs.const_data_ptr<float>();
    for (const PackedCompletion& each : batch->completions) {
      for (const float sampled : each.completion->sampler_logprobs) {
        const double difference = std::abs(static_cast<double>(*value++) - sampled);
        if (!(difference <= largest)) largest = difference;  // a NaN, too
      }
    }
  }
  return largest;
}

}  // namespace cohort
