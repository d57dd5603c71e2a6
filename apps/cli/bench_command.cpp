// cohort bench: how fast and how large the engine runs on this machine with one model.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iomanip>
#include <iostream>

#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/core/memory.h"
#include "cohort/core/units.h"
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
constexpr int64_t kColdBytes = int64_t{1} << 29;  // of weights that no cache holds

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

/// One line of the report: a pass of so many rows, as often as fits into a second.
struct Line {
  std::string name;
  double tokens_per_s;
  int64_t rows;
  int64_t head_rows;  ///< of which the head makes logits
  bool has_backward = false;
  double ceiling_per_s = 0.0;  ///< if the model's matrix products alone took time
};

/// Median of what `measure` returns, after one call that warms up.
double median_of(int64_t repeats, const std::function<double()>& measure) {
  measure();
  std::vector<double> seconds;
  seconds.reserve(repeats);
  for (int64_t i = 0; i < repeats; ++i) seconds.push_back(measure());
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[repeats / 2];
}

/// Median seconds of `work`, likewise.
double median_seconds(int64_t repeats, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  return median_of(repeats, [&] {
    const Clock::time_point start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
  });
}

/// The model's matrices without anything around them: one of each kind, or as many as come from memory, as
/// they do in a pass of the model, when they are multiplied in turn.
class MatrixProducts {
 public:
  MatrixProducts(const DecoderConfig& model, at::ScalarType compute, at::Device device)
      : compute_(compute), device_(device), num_layers_(model.num_hidden_layers) {
    const int64_t hidden = model.hidden_size, q = model.num_attention_heads * model.head_dim;
    const int64_t kv = model.num_key_value_heads * model.head_dim;
    for (const auto& [out, in] : {std::pair{q + 2 * kv, hidden},
                                  {hidden, q},
                                  {2 * model.intermediate_size, hidden},
                                  {hidden, model.intermediate_size}}) {
      layer_.push_back(make(out, in, num_layers_));
    }
    head_ = make(model.vocab_size, hidden, 1);
  }

  /// Seconds of one pass over `rows` rows, of which `head_rows` reach the head; with the backward too.
  double seconds(int64_t repeats, int64_t rows, int64_t head_rows, bool with_backward) const {
    double total = 0.0;
    for (const Matrices& matrices : layer_) {
      total += static_cast<double>(num_layers_) * product_seconds(matrices, repeats, rows, with_backward);
    }
    return total + product_seconds(head_, repeats, head_rows, with_backward);
  }

  /// Floating-point operations a second of the largest layer matrix.
  double peak_flops(int64_t repeats) const {
    const Matrices& matrices = layer_[2];
    const double flop = 2.0 * static_cast<double>(kPeakRows * matrices.front().weight().numel());
    return flop / product_seconds(matrices, repeats, kPeakRows, false);
  }

 private:
  using Matrices = std::vector<Linear>;

  /// At most `most` matrices of one kind.
  Matrices make(int64_t out, int64_t in, int64_t most) const {
    const int64_t bytes = out * in * static_cast<int64_t>(c10::elementSize(compute_));
    Matrices matrices;
    for (int64_t i = 0; i < std::clamp<int64_t>(kColdBytes / bytes, 1, most); ++i) {
      const at::Tensor weight = at::randn({out, in}, at::TensorOptions(at::kFloat).device(device_));
      matrices.emplace_back(weight.set_requires_grad(true), at::Tensor(), compute_);
    }
    return matrices;
  }

  /// Of one product with one of the matrices.
  double product_seconds(const Matrices& matrices, int64_t repeats, int64_t rows, bool with_backward) const {
    const at::NoGradGuard no_grad;
    const int64_t out = matrices.front().out_features(), in = matrices.front().weight().size(1);
    // A head's output is large: as in the program, not all of it is held at once.
    const int64_t at_once = std::min({rows, kPeakRows, logit_rows_at_once(out)});
    const auto random = [&](int64_t width) {
      return at::randn({at_once, width}, at::TensorOptions(at::kFloat).device(device_)).to(compute_);
    };
    const at::Tensor x = random(in), grad = random(out);
    const double seconds = median_seconds(repeats, [&] {
      at::Tensor y;
      for (const Linear& linear : matrices) {
        y = linear.product(x);
        if (with_backward) linear.backward(grad, x);
      }
      y.flatten().narrow(0, 0, 1).cpu();  // waits for a device
    });
    for (const Linear& linear : matrices) linear.weight().mutable_grad() = at::Tensor();
    return seconds * static_cast<double>(rows) / static_cast<double>(at_once * std::ssize(matrices));
  }

  at::ScalarType compute_;
  at::Device device_;
  int64_t num_layers_;
  std::vector<Matrices> layer_;
  Matrices head_;
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

  std::vector<Line> run() {
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
    const double seconds = median_seconds(config_.repeats, [&] { rollout(kGroups, 1, 1); });
    const int64_t rows = kGroups * config_.prompt_length;
    return {"prefill", static_cast<double>(rows) / seconds, rows, kGroups};
  }

  Line decode(int64_t streams) {
    const double seconds = median_of(config_.repeats, [&] {
      rollout(1, streams, config_.completion_length);
      return sampler_.stats().decode_s;
    });
    const auto tokens = static_cast<double>(streams * (config_.completion_length - 1));
    return {str("decode, ", streams, streams == 1 ? " stream" : " streams"), tokens / seconds, streams,
            streams};
  }

  Line training() {
    const std::vector<RolloutGroup> groups = rollout(kGroups, kGroupSize, config_.completion_length);
    std::vector<TrainedGroup> trained;
    for (const RolloutGroup& group : groups) {
      trained.push_back({&group, std::vector<TrainedCompletion>(kGroupSize)});
      for (int64_t i = 0; i < kGroupSize; ++i) {
        trained.back().completions[i].advantage = i % 2 == 0 ? 1.0 : -1.0;
      }
    }
    AdamW optimizer(decoder_.parameters(), OptimizerConfig());
    const LossOptions options{.tokens_per_microbatch = config_.tokens_per_microbatch};
    LossResult loss;
    const double seconds = median_seconds(config_.repeats, [&] {
      optimizer.zero_grad();
      loss = accumulate_policy_gradient(decoder_, trained, LossConfig(), options);
      optimizer.step(0.0, optimizer.grad_norm());
      decoder_.refresh();
    });
    const int64_t rows = loss.rows.prompt + loss.rows.completion + loss.rows.repeated_prompt;
    return {"training", static_cast<double>(rows) / seconds, rows,
            kGroups * kGroupSize * config_.completion_length, /*has_backward=*/true};
  }

  const BenchConfig& config_;
  Decoder& decoder_;
  Sampler sampler_;
};

/// The whole report.
struct Report {
  std::vector<Line> lines;
  int64_t peak_memory_bytes;
  double gflops;  ///< of the products at kPeakRows rows
};

Report measure(const BenchConfig& config, Decoder& decoder) {
  Report report{Bench(config, decoder).run(), peak_memory_bytes(), 0.0};
  const MatrixProducts products(decoder.config(), decoder.compute_dtype(), decoder.device());
  for (Line& line : report.lines) {
    line.ceiling_per_s = static_cast<double>(line.rows) /
                         products.seconds(config.repeats, line.rows, line.head_rows, line.has_backward);
  }
  report.gflops = products.peak_flops(config.repeats) / 1e9;
  return report;
}

void print(const Report& report) {
  std::cout << std::fixed << std::left << std::setw(20) << "" << std::right << std::setw(12) << "tokens/s"
            << std::setw(12) << "ceiling" << std::setw(9) << "share\n";
  for (const Line& line : report.lines) {
    std::cout << std::left << std::setw(20) << line.name << std::right << std::setprecision(0)
              << std::setw(12) << line.tokens_per_s << std::setw(12) << line.ceiling_per_s << std::setw(6)
              << 100.0 * line.tokens_per_s / line.ceiling_per_s << " %\n";
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
                    {"ceiling_tokens_per_s", line.ceiling_per_s},
                    {"share", line.tokens_per_s / line.ceiling_per_s}});
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
