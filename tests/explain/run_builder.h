// A run's directory made of curves, for tests of what is read from it.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "tests/core/test_files.h"

namespace cohort {

/// Value of a metric at a step from 0 to below `steps`; NaN is null.
using CurveShape = std::function<double(int64_t step)>;

class RunBuilder {
 public:
  explicit RunBuilder(int64_t steps) : num_steps(steps) {}

  int64_t num_steps;
  std::map<std::string, std::map<std::string, std::string>>
      sections{};  ///< "objective" -> {"beta": "0.0"}, as TOML
  std::vector<std::map<std::string, std::string>> rewards{}, tools{};  ///< [[reward]] and [[tool]], as TOML
  std::map<std::string, CurveShape> metrics{}, timings{};
  std::vector<Json> completions{};

  /// `key`: "objective.beta"; `value`: as TOML.
  void set(const std::string& key, const std::string& value) {
    const size_t dot = key.rfind('.');
    sections[key.substr(0, dot)][key.substr(dot + 1)] = value;
  }

  /// A completion's line; `more` adds members and replaces them.
  void add_completion(int64_t step, int64_t prompt, int64_t sample, const std::string& text,
                      const Json& more = Json::object()) {
    Json line{{"step", step},
              {"prompt_id", "p" + std::to_string(prompt)},
              {"sample", sample},
              {"prompt", "task " + std::to_string(prompt)},
              {"completion", text},
              {"finish_reason", "stop"},
              {"reward", sample % 2 == 0 ? 1.0 : 0.0},
              {"rewards", {{"accuracy", {{"score", 1.0}, {"status", "ok"}}}}},
              {"advantage", 0.5},
              {"policy_version", 0},
              {"prompt_ids", {1, 7, prompt + 10}},
              {"completion_ids", {5, 6}},
              {"logprobs", {-0.5, -0.25}}};
    line.update(more);
    completions.push_back(std::move(line));
  }

  /// Writes the directory, which lives as long as the builder.
  std::filesystem::path write() const {
    const std::filesystem::path path = directory_.path();
    write_text(path / "config.toml", config());
    write_text(path / "metrics.jsonl", lines_of(metrics));
    write_text(path / "timings.jsonl", lines_of(timings));
    std::string lines;
    for (const Json& line : completions) lines += to_json_text(line) + "\n";
    write_text(path / "completions.jsonl", lines);
    return path;
  }

 private:
  std::string config() const {
    std::string text;
    for (const auto& [section, keys] : sections) text += "[" + section + "]\n" + lines_of(keys);
    for (const auto& table : rewards) text += "[[reward]]\n" + lines_of(table);
    for (const auto& table : tools) text += "[[tool]]\n" + lines_of(table);
    return text;
  }

  static std::string lines_of(const std::map<std::string, std::string>& keys) {
    std::string text;
    for (const auto& [key, value] : keys) text += key + " = " + value + "\n";
    return text;
  }

  std::string lines_of(const std::map<std::string, CurveShape>& curves) const {
    std::string lines;
    for (int64_t step = 0; step < num_steps; ++step) {
      Json line{{"step", step + 1}};
      for (const auto& [name, shape] : curves) {
        const double value = shape(step);
        if (std::isinf(value)) continue;  // no such member in this step
        line[name] = std::isnan(value) ? Json(nullptr) : Json(value);
      }
      lines += to_json_text(line) + "\n";
    }
    return lines;
  }

  TemporaryDirectory directory_{};
};

/// The same number in every step.
inline CurveShape constant(double value) {
  return [value](int64_t) { return value; };
}

/// From `begin` to `end` in a straight line over `steps`.
inline CurveShape line(double begin, double end, int64_t steps) {
  return [=](int64_t step) {
    return begin + (end - begin) * static_cast<double>(step) / static_cast<double>(steps - 1);
  };
}

/// `before` until the step `at`, then `after`.
inline CurveShape jump(double before, double after, int64_t at) {
  return [=](int64_t step) { return step < at ? before : after; };
}

/// A shape with normal noise, the same for the same seed and step.
inline CurveShape noisy(CurveShape shape, double deviation, uint64_t seed, double lowest = -1e300,
                        double highest = 1e300) {
  return [=](int64_t step) {
    std::mt19937_64 random(seed * 1000003 + static_cast<uint64_t>(step));
    return std::clamp(shape(step) + std::normal_distribution<double>(0.0, deviation)(random), lowest,
                      highest);
  };
}

}  // namespace cohort
