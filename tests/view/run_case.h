// A small run as `cohort train` writes it, made of given completions.
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/text/tokenizer.h"
#include "tests/core/test_files.h"

namespace cohort {

inline const Tokenizer& demo_tokenizer() {
  static const Tokenizer tokenizer =
      Tokenizer::from_directory(std::filesystem::path(COHORT_SOURCE_DIR) / "recipes/demo");
  return tokenizer;
}

inline Json completion_line(int64_t step, const std::string& prompt_id, int64_t sample, double reward,
                            const std::string& completion) {
  const std::vector<int32_t> ids = demo_tokenizer().encode(completion);
  return {{"step", step},
          {"prompt_id", prompt_id},
          {"sample", sample},
          {"prompt", "What is the answer to " + prompt_id + "?"},
          {"completion", completion},
          {"finish_reason", "stop"},
          {"reward", std::isnan(reward) ? Json(nullptr) : Json(reward)},
          {"rewards", {{"accuracy", {{"score", reward}, {"status", "ok"}}}}},
          {"advantage", reward - 0.5},
          {"policy_version", step},
          {"prompt_ids", Json::array({1, 2})},
          {"completion_ids", ids},
          {"logprobs", std::vector<double>(ids.size(), -0.25)}};
}

/// Six steps of two prompts with two samples each: "easy" is solved from the first step on, "hard" from the
/// fourth. Step 6 has prompt "never", too.
class RunCase {
 public:
  RunCase() {
    write_text(path() / "config.toml",
               "seed = 3\n[model]\npath = \"start\"\n[data]\npath = "
               "[\"train.jsonl\"]\n[rollout]\nnum_generations = 2\n"
               "[objective]\npreset = \"grpo\"\nbeta = 0.0\n[train]\nmax_steps = 8\n"
               "[[reward]]\nname = \"accuracy\"\ntype = \"countdown\"\n");
    write_text(path() / ".start", "2027-03-04T05:06:07\n");
    for (int64_t step = 1; step <= 6; ++step) add_step(step);
    write();
  }

  std::filesystem::path path() const { return directory_.path(); }

  void add_step(int64_t step) {
    for (int64_t sample = 0; sample < 2; ++sample) {
      add(completion_line(step, "easy", sample, 1.0, "1 + 1 = 2"));
      add(completion_line(step, "hard", sample, step >= 4 ? 1.0 : 0.0,
                          step >= 4 ? "6 * 7 = 42" : "6 * 7 = 13"));
      if (step == 1 || step == 6) add(completion_line(step, "never", sample, 0.0, "no idea"));
    }
    const double reward = step >= 4 ? 1.0 : 0.5;
    metrics_ += to_json_text({{"step", step},
                              {"reward", reward},
                              {"reward_std", 0.5},
                              {"entropy", 2.0 / step},
                              {"rewards/accuracy/mean", reward},
                              {"rewards/accuracy/unparsed", step == 2 ? 1 : 0},
                              {"rewards/accuracy/timeout", 0},
                              {"kl", nullptr}}) +
                "\n";
    timings_ += to_json_text({{"step", step},
                              {"timing_s/step", 10.0},
                              {"timing_s/gen", 4.0},
                              {"timing_s/gen/prefill", 0.5},
                              {"timing_s/gen/decode", 3.0},
                              {"timing_s/reward", 1.0},
                              {"timing_s/update_actor", 3.0},
                              {"timing_s/reward/accuracy/p50", 0.01 * step},
                              {"perf/max_memory_allocated_gb", 0.5}}) +
                "\n";
  }

  void add(const Json& line) { completions_ += to_json_text(line) + "\n"; }

  void write() const {
    write_text(path() / "metrics.jsonl", metrics_);
    write_text(path() / "timings.jsonl", timings_);
    write_text(path() / "completions.jsonl", completions_);
  }

  /// Puts the demo's tokenizer into final/, as a finished run has it.
  void add_final() const {
    std::filesystem::create_directories(path() / "final");
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
      std::filesystem::copy_file(std::filesystem::path(COHORT_SOURCE_DIR) / "recipes/demo" / file,
                                 path() / "final" / file);
  }

 private:
  TemporaryDirectory directory_;
  std::string metrics_, timings_, completions_;
};

}  // namespace cohort
