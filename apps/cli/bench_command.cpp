// cohort bench: how fast and how large the engine runs on this machine with one model.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <ranges>
#include <vector>

#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/core/memory.h"
#include "cohort/core/units.h"
#include "cohort/models/decoder_layer.h"
#include "cohort/models/pretrained.h"
#include "cohort/ops/linear.h"
#include "cohort/ops/token_logprobs.h"
#include "cohort/sampler/sampler.h"
#include "cohort/tensor/compute.h"
#include "cohort/train/optimizer.h"
#include "cohort/train/policy_loss.h"

namespace cohort::cli {
namespace {

constexpr int64_t kGroups = 8, kGroupSize = 8;
constexpr int64_t kPeakRows = 1024;

struct BenchConfig {
  std::string model;
  bool json = false;
  std::string measure = "all";
  std::string dtype = "bfloat16";
  std::string device = "cpu";
  int64_t prompt_length = 128;
  int64_t completion_length = 64;
  int64_t tokens_per_microbatch = GrpoLoopConfig().tokens_per_microbatch;
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
    f("tokens_per_microbatch", tokens_per_microbatch, "Rows that training forwards at once.", at_least(1));
    f("repeats", repeats, "Runs of each measurement, of which the median counts.", at_least(1));
    f("threads", threads, "CPU threads; 0 takes OMP_NUM_THREADS where that is set, else all cores.",
      at_least(0));
  }
};

/// One line of the report: what a pass of so many rows takes.
struct Line {
  std::string name;
  int64_t rows;
  int64_t head_rows;  ///< of which the head makes logits
  bool has_backward;
  std::function<double()> engine_seconds;  ///< runs the engine: seconds a pass
  double tokens_per_s = 0.0;
  double ceiling_tokens_per_s = 0.0;  ///< if the model's matrix products alone took time
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double seconds_of(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The model's matrix products without anything around them: the same weights in the order of a pass, so that
/// they come from the caches or from memory as they do there, times random rows.
class MatrixProducts {
 public:
  MatrixProducts(const Decoder& decoder, int64_t rows_at_once)
      : decoder_(decoder), layers_(decoder.layer_products()), rows_at_once_(rows_at_once) {
    const int64_t most_rows = std::max(rows_at_once, kPeakRows);
    for (const LayerProduct& product : layers_) make_rows(*product.linear, most_rows);
    make_rows(decoder.head(), std::min(most_rows, head_rows_at_once()));
  }

  /// Mean seconds of the line's pass, over as many as half a second takes.
  double seconds(const Line& line) const {
    double total = 0.0;
    int64_t passes = 0;
    for (; total < 0.5; ++passes) total += seconds_of([&] { pass(line); });
    return total / static_cast<double>(passes);
  }

  /// Floating-point operations a second of the largest layer matrix.
  double peak_flops(int64_t repeats) const {
    const auto size = [](const LayerProduct& product) { return product.linear->weight().numel(); };
    const Linear& largest = *std::ranges::max_element(layers_, {}, size)->linear;
    std::vector<double> seconds;
    for (int64_t i = 0; i <= repeats; ++i) {
      seconds.push_back(seconds_of([&] { wait_for(largest.product(input(largest, kPeakRows))); }));
    }
    seconds.erase(seconds.begin());  // warms up
    return 2.0 * static_cast<double>(kPeakRows * largest.weight().numel()) / median(seconds);
  }

 private:
  static void wait_for(const at::Tensor& of_device) { of_device.flatten().narrow(0, 0, 1).cpu(); }

  int64_t head_rows_at_once() const { return logit_rows_at_once(decoder_.config().vocab_size); }

  void make_rows(const Linear& linear, int64_t rows) {
    for (const int64_t width : linear.weight().sizes()) {
      at::Tensor& random = random_[width];
      if (random.defined() && random.size(0) >= rows) continue;
      random = at::randn({rows, width}, decoder_.options());
    }
  }

  at::Tensor input(const Linear& linear, int64_t rows) const {
    return random_.at(linear.weight().size(1)).narrow(0, 0, rows);
  }

  at::Tensor gradient(const Linear& linear, int64_t rows) const {
    return random_.at(linear.out_features()).narrow(0, 0, rows);
  }

  void pass(const Line& line) const {
    const at::NoGradGuard no_grad;
    const int64_t pieces = (line.rows + rows_at_once_ - 1) / rows_at_once_;
    for (int64_t i = 0; i < pieces; ++i) {
      const auto share = [&](int64_t rows) { return rows * (i + 1) / pieces - rows * i / pieces; };
      micro_batch(share(line.rows), share(line.head_rows), line.has_backward);
    }
  }

  void micro_batch(int64_t rows, int64_t head_rows, bool has_backward) const {
    const auto rows_of = [&](const LayerProduct& product) {
      return std::max<int64_t>(1, std::llround(product.share_of_rows * static_cast<double>(rows)));
    };
    at::Tensor last;
    for (const LayerProduct& product : layers_) {
      last = product.linear->product(input(*product.linear, rows_of(product)));
    }
    const Linear& head = decoder_.head();
    const at::Tensor head_weight = has_backward ? head.weight_for_backward() : at::Tensor();
    for (int64_t row = 0; row < head_rows; row += head_rows_at_once()) {
      const int64_t count = std::min(head_rows_at_once(), head_rows - row);
      last = head.product(input(head, count));
      if (has_backward) last = head.backward(gradient(head, count), input(head, count), head_weight);
    }
    if (has_backward) {
      for (const LayerProduct& product : std::views::reverse(layers_)) {
        const Linear& linear = *product.linear;
        last = linear.backward(gradient(linear, rows_of(product)), input(linear, rows_of(product)));
      }
    }
    wait_for(last);
  }

  const Decoder& decoder_;
  std::vector<LayerProduct> layers_;
  int64_t rows_at_once_;
  std::map<int64_t, at::Tensor> random_;  // [rows, width] of each width
};

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

  /// What was asked for, not yet measured.
  std::vector<Line> lines() {
    const auto is_asked = [&](const char* name) {
      return config_.measure == "all" || config_.measure == name;
    };
    std::vector<Line> lines;
    if (is_asked("prefill")) lines.push_back(prefill());
    if (is_asked("decode")) {
      for (const int64_t streams : {1, 8, 64}) lines.push_back(decode(streams));
    }
    if (is_asked("training")) lines.push_back(training());
    return lines;
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

  std::vector<RolloutGroup> rollout(int64_t num_prompts, int64_t num_generations, int64_t length) {
    SamplingParams params;
    params.max_completion_length = length;
    params.ignore_eos = true;
    return sampler_.rollout(prompts(num_prompts), num_generations, params, {});
  }

  Line prefill() {
    const int64_t rows = kGroups * config_.prompt_length;
    return {"prefill", rows, kGroups, /*has_backward=*/false,
            [this] { return seconds_of([&] { rollout(kGroups, 1, 1); }); }};
  }

  Line decode(int64_t streams) {
    return {str("decode, ", streams, streams == 1 ? " stream" : " streams"), streams, streams,
            /*has_backward=*/false, [this, streams] {
              rollout(1, streams, config_.completion_length);
              return sampler_.stats().decode_s / static_cast<double>(config_.completion_length - 1);
            }};
  }

  Line training() {
    const int64_t completion_rows = kGroups * kGroupSize * config_.completion_length;
    groups_ = rollout(kGroups, kGroupSize, config_.completion_length);
    trained_.clear();
    for (const RolloutGroup& group : groups_) {
      trained_.push_back({&group, std::vector<TrainedCompletion>(kGroupSize)});
      for (int64_t i = 0; i < kGroupSize; ++i) {
        trained_.back().completions[i].advantage = i % 2 == 0 ? 1.0 : -1.0;
      }
    }
    optimizer_.emplace(decoder_.parameters(), OptimizerConfig());
    const LossOptions options{.tokens_per_microbatch = config_.tokens_per_microbatch};
    const auto update = [this, options] {
      optimizer_->zero_grad();
      const LossResult loss = accumulate_policy_gradient(decoder_, trained_, LossConfig(), options);
      optimizer_->step(0.0, optimizer_->grad_norm());
      decoder_.refresh();
      return loss.rows.prompt + loss.rows.completion + loss.rows.repeated_prompt;
    };
    const int64_t rows = update();
    return {"training", rows, completion_rows, /*has_backward=*/true,
            [update] { return seconds_of(update); }};
  }

  const BenchConfig& config_;
  Decoder& decoder_;
  Sampler sampler_;
  std::vector<RolloutGroup> groups_;  // what training trains on
  std::vector<TrainedGroup> trained_;
  std::optional<AdamW> optimizer_;
};

/// The whole report.
struct Report {
  std::vector<Line> lines;
  int64_t peak_memory_bytes = 0;
  double gflops = 0.0;  ///< of the products at kPeakRows rows
};

/// Engine and products alternate, so that both meet the same hours of a machine that others use, too.
void measure(Line& line, const MatrixProducts& products, int64_t repeats) {
  std::vector<double> engine, alone;
  for (int64_t i = 0; i < repeats; ++i) {
    engine.push_back(line.engine_seconds());
    alone.push_back(products.seconds(line));
  }
  const auto rows = static_cast<double>(line.rows);
  line.tokens_per_s = rows / median(engine);
  line.ceiling_tokens_per_s = rows / median(alone);
}

Report measure(const BenchConfig& config, Decoder& decoder) {
  Bench bench(config, decoder);
  Report report{.lines = bench.lines()};
  for (const Line& line : report.lines) line.engine_seconds();  // warms up
  report.peak_memory_bytes = peak_memory_bytes();
  const MatrixProducts products(decoder, config.tokens_per_microbatch);
  for (Line& line : report.lines) measure(line, products, config.repeats);
  report.gflops = products.peak_flops(config.repeats) / 1e9;
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
         "of the model's\nmatrix products alone, measured here with the same numbers of rows; "
      << std::setprecision(0) << report.gflops << " GFLOP/s at " << kPeakRows << " rows.\n"
      << "peak memory " << format_bytes(report.peak_memory_bytes) << "\n";
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
