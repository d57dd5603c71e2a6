#include "cohort/serve/model_service.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "cohort/ops/token_logprobs.h"

namespace cohort {

RequestId ModelService::add(Request request) {
  const RequestId id = engine_.add(std::move(request));
  wake();
  return id;
}

void ModelService::cancel(RequestId id) {
  engine_.cancel(id);
  wake();
}

void ModelService::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake();
}

void ModelService::wake() {
  {
    const std::lock_guard lock(mutex_);
    has_news_ = true;
  }
  changed_.notify_one();
}

void ModelService::run(const std::function<bool()>& is_over) {
  while (!is_over()) {
    const bool has_run = run_jobs();
    if (engine_.step() || has_run) continue;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return has_news_; });
    has_news_ = false;
  }
}

bool ModelService::run_jobs() {
  std::vector<std::function<void()>> jobs;
  {
    const std::lock_guard lock(mutex_);
    jobs.swap(jobs_);
  }
  for (const std::function<void()>& job : jobs) job();
  return !jobs.empty();
}

std::vector<SampledToken> prompt_logprobs(const Decoder& decoder, const std::vector<int32_t>& prompt,
                                          int64_t num_top_logprobs) {
  const at::NoGradGuard no_grad;
  const auto length = std::ssize(prompt);
  const int64_t vocabulary = decoder.config().vocab_size;
  std::vector<int64_t> positions(length);
  std::iota(positions.begin(), positions.end(), 0);
  DecoderInput input;
  input.plan.begin_group();
  input.plan.add_sequence(0, length, 0, {{0, length}});
  input.set_rows({prompt.begin(), prompt.end()}, positions, decoder.device());
  const at::Tensor hidden = decoder.forward(input);
  std::vector<SampledToken> tokens{{prompt.front(), std::numeric_limits<float>::quiet_NaN(), nullptr}};
  const int64_t step = logit_rows_at_once(vocabulary);
  for (int64_t first = 0; first + 1 < length; first += step) {
    const int64_t end = std::min(first + step, length - 1);
    const at::Tensor rows = at::arange(first, end, at::kLong).to(decoder.device());
    const at::Tensor products = decoder.head().product(decoder.head_input(hidden, rows));
    const at::Tensor logits = scaled_logits(products, {.softcap = decoder.config().final_softcap})
                                  .to(at::kCPU, at::kFloat)
                                  .contiguous();
    const float* row = logits.const_data_ptr<float>();
    for (int64_t i = first; i < end; ++i, row += vocabulary)
      tokens.push_back(given_token(row, vocabulary, prompt[i + 1], num_top_logprobs));
  }
  return tokens;
}

}  // namespace cohort
