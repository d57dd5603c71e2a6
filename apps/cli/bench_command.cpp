// cohort bench: how fast and how large the engine runs on this machine with one model.
#include <array>
#include <chrono>
#include <functional>
#include <iomanip>
#include <iostream>
#include <optional>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/matrix_products.h"
#include "cohort/core/error.h"
#include "cohort/core/memory.h"
#include "cohort/core/units.h"
#include "cohort/models/pretrained.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/ops/cpu_arch.h"
#include "cohort/sampler/sampler.h"
#include "cohort/sampler/scheduler.h"
#include "cohort/tensor/compute.h"
#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/grpo/train_config.h"
#include "cohort/train/run/memory_plan.h"
#include "cohort/train/run/optimizer.h"

namespace cohort::cli {
namespace {

constexpr int64_t kGroups = 8, kGroupSize = 8;
constexpr auto kStreams = std::to_array<int64_t>({1, 8, 64});

struct BenchConfig {
  std::string model;
  bool json = false;
  std::string measure = "all";
  std::string dtype = "bfloat16";
  std::string device = "cpu";
  int64_t prompt_length = 128;
  int64_t completion_length = 64;
  int64_t streams = 0;
  int64_t tokens_per_microbatch = TrainConfig().train.tokens_per_microbatch;
  int64_t repeats = 5;
  int64_t threads = 0;

  void describe(FieldVisitor& f) {
    f("model", model, "Hugging Face model directory; required. Random weights serve as well (cohort init).");
    f("json", json, "Print the figures as one line of JSON instead of a table.");
    f("measure", measure, "What to measure.", one_of({"all", "prefill", "decode", "training"}));
    f("dtype", dtype, "Compute dtype.", one_of({"float32", "bfloat16"}));
    f("device", device, "Where to compute.", one_of({"cpu", "cuda"}));
    f("prompt_length", prompt_length, "Tokens of a prompt.", at_least(1));
    f("completion_length", completion_length, "Tokens of a completion.", at_least(2));
    f("streams", streams, "Completions that `decode` draws at once; 0 measures 1, 8 and 64 in turn.",
      at_least(0));
    f("tokens_per_microbatch", tokens_per_microbatch,
      "Rows that training forwards at once; 0: as `train.tokens_per_microbatch`.", at_least(0));
    f("repeats", repeats, "Runs of each measurement, of which the median counts.", at_least(1));
    f("threads", threads, "CPU threads; 0 takes OMP_NUM_THREADS where that is set, else all cores.",
      at_least(0));
  }
};

/// One line of the report, to be measured.
struct Job {
  std::string name;
  Pass pass;
  std::function<double()> engine_seconds;  ///< runs the engine: seconds a pass
};

/// What was measured.
struct Line {
  std::string name;
  double tokens_per_s;
  double ceiling_tokens_per_s;  ///< if the model's matrix products alone took time
};

double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Mean seconds of the products of a pass, over as many as half a second takes.
double product_seconds(const MatrixProducts& products, const Pass& pass) {
  double total = 0.0;
  int64_t count = 0;
  for (; total < 0.5; ++count) total += seconds_of([&] { products.multiply(pass); });
  return total / static_cast<double>(count);
}

class Bench {
 public:
  Bench(const BenchConfig& config, Decoder& decoder)
      : config_(config), decoder_(decoder), sampler_(decoder, nullptr, 0) {
    if (config.prompt_length + config.completion_length > decoder.config().context_length) {
      throw ConfigError(str("--prompt_length + --completion_length is more than the model's context of ",
                            decoder.config().context_length));
    }
    decoder.plan_length(config.prompt_length + config.completion_length);
  }

  /// What was asked for, not yet measured; each has run once, which warms up.
  std::vector<Job> jobs() {
    const auto is_asked = [&](const char* name) {
      return config_.measure == "all" || config_.measure == name;
    };
    std::vector<Job> jobs;
    const auto add = [&](Job job) {
      job.engine_seconds();
      jobs.push_back(std::move(job));
    };
    if (is_asked("prefill")) add(prefill());
    if (is_asked("decode")) {
      std::vector<int64_t> all(kStreams.begin(), kStreams.end());
      if (config_.streams > 0) all = {config_.streams};
      for (const int64_t streams : all) add(decode(streams));
    }
    if (is_asked("training")) jobs.push_back(training());
    return jobs;
  }

 private:
  std::vector<Prompt> prompts(int64_t count) const {
    std::vector<Prompt> prompts(count);
    for (int64_t p = 0; p < count; ++p) {
      for (int64_t i = 0; i < config_.prompt_length; ++i) {
        // Id 0 is often padding, whose zero embedding makes the gradients of a random model overflow.
        const int64_t id = 1 + (p * 104729 + i * 7919) % (decoder_.config().vocab_size - 1);
        prompts[p].token_ids.push_back(static_cast<int32_t>(id));
      }
    }
    return prompts;
  }

  std::vector<Group> rollout(int64_t num_prompts, int64_t num_generations, int64_t length) {
    SamplingParams params;
    params.max_completion_length = length;
    params.ignore_eos = true;
    sampler_.release_cache();
    return sampler_.rollout(prompts(num_prompts), num_generations, params, {});
  }

  Job prefill() {
    const Pass pass{kGroups * config_.prompt_length, kGroups, kGroups, SchedulerLimits().max_rows};
    return {"prefill", pass, [this] { return seconds_of([&] { rollout(kGroups, 1, 1); }); }};
  }

  Job decode(int64_t streams) {
    return {str("decode, ", streams, streams == 1 ? " stream" : " streams"),
            {streams, streams, streams, streams},
            [this, streams] {
              rollout(1, streams, config_.completion_length);
              return sampler_.stats().decode_s / static_cast<double>(config_.completion_length - 1);
            }};
  }

  Job training() {
    groups_ = rollout(kGroups, kGroupSize, config_.completion_length);
    for (Group& group : groups_) {
      for (int64_t i = 0; i < kGroupSize; ++i) group.samples[i].advantage = i % 2 == 0 ? 1.0 : -1.0;
    }
    optimizer_.emplace(decoder_.parameters(), OptimizerConfig());
    const LossOptions options{.tokens_per_microbatch =
                                  microbatch_rows(config_.tokens_per_microbatch, decoder_, false)};
    const auto update = [this, options] {
      optimizer_->zero_grad();
      const LossResult loss = accumulate_policy_gradient(decoder_, groups_, LossConfig(), options);
      optimizer_->step(0.0, optimizer_->grad_norm());
      decoder_.refresh();
      return loss.rows;
    };
    const RowCounts rows = update();  // warms up
    const int64_t prompt_rows = rows.prompt + rows.repeated_prompt;
    const Pass pass{.rows = prompt_rows + rows.completion,
                    .result_rows = prompt_rows / config_.prompt_length + rows.completion,
                    .head_rows = kGroups * kGroupSize * config_.completion_length,
                    .rows_at_once = options.tokens_per_microbatch.filled(
                        {kGroups, config_.prompt_length, config_.completion_length - 1, kGroupSize}),
                    .has_backward = true};
    return {"training", pass, [update] { return seconds_of(update); }};
  }

  const BenchConfig& config_;
  Decoder& decoder_;
  Sampler sampler_;
  std::vector<Group> groups_;  // what training trains on
  std::optional<AdamW> optimizer_;
};

/// The whole report.
struct Report {
  std::vector<Line> lines;
  int64_t peak_memory_bytes = 0;
  double gflops = 0.0;  ///< of the products at kPeakRows rows
};

/// Engine and products alternate, so that both meet the same hours of a machine that others use, too.
Line measure(const Job& job, const MatrixProducts& products, int64_t repeats) {
  products.multiply(job.pass);  // warms up
  std::vector<double> engine, alone;
  for (int64_t i = 0; i < repeats; ++i) {
    engine.push_back(job.engine_seconds());
    alone.push_back(product_seconds(products, job.pass));
  }
  const auto rows = static_cast<double>(job.pass.rows);
  return {job.name, rows / median_of(engine), rows / median_of(alone)};
}

Report measure(const BenchConfig& config, Decoder& decoder) {
  Report report;
  Bench bench(config, decoder);
  const std::vector<Job> jobs = bench.jobs();
  report.peak_memory_bytes = peak_memory_bytes();
  std::vector<Pass> passes;
  passes.reserve(jobs.size());
  for (const Job& job : jobs) passes.push_back(job.pass);
  const MatrixProducts products(decoder, passes);
  for (const Job& job : jobs) report.lines.push_back(measure(job, products, config.repeats));
  const double flop = products.multiply_largest();  // warms up
  std::vector<double> peak;
  peak.reserve(config.repeats);
  for (int64_t i = 0; i < config.repeats; ++i) {
    peak.push_back(seconds_of([&] { products.multiply_largest(); }));
  }
  report.gflops = flop / median_of(peak) / 1e9;
  return report;
}

void print(const Report& report) {
  std::cout << std::fixed << std::left << std::setw(20) << "" << std::right << std::setw(12) << "tokens/s"
            << std::setw(12) << "ceiling" << std::setw(9) << "share\n";
  for (const Line& line : report.lines) {
    std::cout << std::left << std::setw(20) << line.name << std::right << std::setprecision(0)
              << std::setw(12) << line.tokens_per_s << std::setw(12) << line.ceiling_tokens_per_s
              << std::setw(6) << 100.0 * line.tokens_per_s / line.ceiling_tokens_per_s << " %\n";
  }
  std::cout
      << "Tokens are rows of a pass: a prompt's are computed once for its group. The ceiling is the time "
         "of the model's\nmatrix products alone, measured in turn with the engine on as many rows; "
      << std::setprecision(0) << report.gflops << " GFLOP/s at " << kPeakRows << " rows.\n"
      << "peak memory " << format_bytes(report.peak_memory_bytes) << ", instruction set "
      << describe_cpu_arch() << "\n";
}

Json to_json(const BenchConfig& config, const Report& report) {
  Json rows = Json::array();
  for (const Line& line : report.lines) {
    rows.push_back({{"name", line.name},
                    {"tokens_per_s", line.tokens_per_s},
                    {"ceiling_tokens_per_s", line.ceiling_tokens_per_s},
                    {"share", line.tokens_per_s / line.ceiling_tokens_per_s}});
  }
  return {{"model", config.model},
          {"dtype", config.dtype},
          {"device", config.device},
          {"cpu_arch", name_of(cpu_arch())},
          {"prompt_length", config.prompt_length},
          {"completion_length", config.completion_length},
          {"lines", rows},
          {"gflops", report.gflops},
          {"peak_memory_bytes", report.peak_memory_bytes}};
}

}  // namespace

int bench_command(const Command& self, const Arguments& arguments) {
  BenchConfig config;
  if (!read_flags(self, arguments, config)) return 0;
  require(config.model, "model");
  set_threads(config.threads);
  const auto decoder = load_pretrained(config.model, parse_dtype(config.dtype), parse_device(config.device));
  const Report report = measure(config, *decoder);
  if (config.json) {
    std::cout << to_json(config, report).dump() << "\n";
  } else {
    print(report);
  }
  return 0;
}

}  // namespace cohort::cli
