// Opens a JSONL file as a run does and draws rows at random: bench/many_rows.py.
//
// bench_many_rows FILE DEDUPLICATE DRAWS THREADS
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cohort/core/memory.h"
#include "cohort/tasks/dataset_source.h"

namespace {

/// Peak resident memory of the process so far.
double peak_mib() { return static_cast<double>(cohort::peak_memory_bytes()) / (1 << 20); }

class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  // A token a byte: what is measured is not a tokenizer.
  const auto tokenize = [](const std::string& text) {
    return std::vector<int32_t>(text.begin(), text.end());
  };
  const cohort::TextFormat format{tokenize, tokenize, {}};
  cohort::DatasetOptions options;
  options.sources = {{{argv[1]}, {}, "", {}}};
  options.deduplicate = cohort::parse_deduplicate(argv[2]);
  options.num_threads = std::atoi(argv[4]);
  const double before = peak_mib();
  const Timer opening;
  const cohort::Dataset data(options, [&](const cohort::Row& row) {
    const auto length = static_cast<int64_t>(cohort::to_prompt(row, format).token_ids.size());
    return cohort::RowLengths{length, length + 1};
  });
  std::printf("opened %lld rows in %.1f s; peak memory %.1f MiB, %.1f MiB before, %.2f bytes a row\n",
              static_cast<long long>(data.num_rows()), opening.seconds(), peak_mib(), before,
              (peak_mib() - before) * (1 << 20) / static_cast<double>(data.num_rows()));
  cohort::DatasetSource source(data, format, 1, true);
  const auto draws = std::atoll(argv[3]);
  const Timer drawing;
  size_t num_tokens = 0;
  for (int64_t i = 0; i < draws; ++i) num_tokens += source.next(1)[0].token_ids.size();
  std::printf("drew %lld prompts of %.1f tokens in %.2f s, %.1f us each; peak memory %.1f MiB\n",
              static_cast<long long>(draws), static_cast<double>(num_tokens) / static_cast<double>(draws),
              drawing.seconds(), 1e6 * drawing.seconds() / static_cast<double>(draws), peak_mib());
  return 0;
}
