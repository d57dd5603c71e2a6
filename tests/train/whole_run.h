// Whole runs of `cohort train` with tiny models, for tests, and what they leave behind.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "cohort/train/grpo/grpo_run.h"
#include "cohort/train/run/lora_start.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"
#include "tests/train/whole_run_files.h"

namespace cohort {

/// The relative names of a run's files with their contents, its log, and the error that ended it; without
/// times, and without the copy of its settings.
using RunTraces = std::map<std::string, std::string>;

/// A directory with models, rows and an adapter, which is the working directory while this lives.
class WholeRuns {
 public:
  WholeRuns() {
    std::filesystem::current_path(directory_.path());
    write_random_model("model", "LlamaForCausalLM", 3);
    write_random_model("other", "LlamaForCausalLM", 4);
    write_random_model("experts", "MixtralForCausalLM", 3);
    write_text("template.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}{{ tone }}!");
    write_row_files();
    run({"lora.r=4", "lora.alpha=8"});
    std::filesystem::rename("run/final", "adapter");
  }
  ~WholeRuns() { std::filesystem::current_path(before_); }
  WholeRuns(const WholeRuns&) = delete;
  WholeRuns& operator=(const WholeRuns&) = delete;

  /// Two steps on `rows.jsonl`, with these settings over them. `tables` is TOML.
  RunTraces run(const std::vector<std::string>& settings, const std::string& tables = "") const {
    std::filesystem::remove_all("run");
    RunTraces traces;
    testing::internal::CaptureStderr();
    try {
      traces["exit code"] = str(run_grpo(config_of(settings, tables), {}));
    } catch (const UserError& error) {
      traces["error"] = error.what();
    }
    traces["log"] = steady_lines(testing::internal::GetCapturedStderr());
    if (std::filesystem::exists("run")) take_files("run", traces);
    return traces;
  }

 private:
  /// One reward judges every completion, the other half of them.
  static inline const std::string kRecipe = R"(
    model = {path = "model", dtype = "float32"}
    run = {dir = "run"}
    rollout = {prompts_per_step = 2, num_generations = 4, max_completion_length = 8}
    optimizer = {learning_rate = 0.01, lr_scheduler_type = "constant"}
    train = {max_steps = 2}
    [[reward]]
    name = "letters"
    type = "regex"
    pattern = "[a-f]"
    [[reward]]
    name = "numbers"
    type = "numeric"
  )";

  static TrainConfig config_of(const std::vector<std::string>& settings, const std::string& tables) {
    TrainConfig config;
    std::vector<std::string> flags;
    for (const std::string& setting : settings) flags.push_back("--" + setting);
    const auto read = [&] {
      apply_toml_text(settings_of(config), kRecipe + tables, "recipe.toml");
      if (config.data.source.empty()) config.data.path = {"rows.jsonl"};
      apply_flags(settings_of(config), flags);
    };
    read();
    if (config.lora.path.empty()) return config;
    take_adapter_settings(config.lora, config.lora.path);
    read();
    return config;
  }

  /// Without the steps' speed and what the program itself takes of the memory.
  static std::string steady_lines(const std::string& log) {
    static const std::regex changing("memory planned: [^:]*:|, program [^;,]*");
    std::istringstream lines(log);
    std::string steady;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("step ")) steady += std::regex_replace(line, changing, "") + "\n";
    }
    return steady;
  }

  static void take_files(const std::filesystem::path& run, RunTraces& traces) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
      const std::string name = entry.path().lexically_relative(run).string();
      const std::string file = entry.path().filename().string();
      if (!entry.is_regular_file() || file.starts_with(".") || file.starts_with("events.")) continue;
      // The log has the memory plan, too, and is cleared of what the program takes.
      if (name == "config.toml" || file == "timings.jsonl" || file == "memory_plan.json") continue;
      traces[name] = file == "state.json" ? steady_state(entry.path()) : read_text(entry.path());
    }
  }

  /// Without the sizes of files, one of which holds times, and without its copy of a setting.
  static std::string steady_state(const std::filesystem::path& path) {
    Json state = read_json(path);
    state.erase("files");
    state.erase("metric_for_best_model");
    return state.dump();
  }

  const ThreadCount one_thread_{1};
  const TemporaryDirectory directory_;
  const std::filesystem::path before_ = std::filesystem::current_path();
};

}  // namespace cohort
