#include "cohort/train/run_setup.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/core/time_text.h"
#include "cohort/sampler/model_tokenizer.h"

namespace cohort {

std::tm run_start(const RunConfig& run, bool resume) {
  return resume && RunDirectory::holds_run(run.dir) ? RunDirectory::start_of(run.dir) : present_time();
}

int64_t num_steps(std::optional<int64_t> max_steps, std::optional<double> epochs, int64_t rows,
                  int64_t rows_per_step) {
  int64_t steps = max_steps.value_or(std::numeric_limits<int64_t>::max());
  if (epochs) {
    const double needed = std::ceil(*epochs * static_cast<double>(rows) / static_cast<double>(rows_per_step));
    steps = std::min(steps, static_cast<int64_t>(needed));
  }
  return std::max<int64_t>(1, steps);
}

std::unique_ptr<const Tokenizer> require_tokenizer(const std::string& model_dir, const DecoderConfig& model) {
  auto tokenizer = read_tokenizer(model_dir, model);
  if (tokenizer == nullptr)
    throw FormatError(str(model_dir, ": has no tokenizer.json, which training on text needs"));
  return tokenizer;
}

}  // namespace cohort
