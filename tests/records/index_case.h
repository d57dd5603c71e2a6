// A run's completions for tests of its index, and what the index must be: computed from the lines by the JSON
// parser.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "cohort/core/time_text.h"
#include "cohort/records/completion_files.h"
#include "cohort/records/completion_index.h"
#include "cohort/records/completions_log.h"
#include "libs/common/hash.h"
#include "tests/core/test_files.h"

namespace cohort {

inline float float_or_nan(const Json& row, const char* key) {
  return row.contains(key) && row[key].is_number() ? row[key].get<float>() : std::nanf("");
}

inline CompletionEntry parsed_entry(const std::string& line, int64_t place, uint32_t file) {
  const Json row = Json::parse(line);
  CompletionEntry entry{.place = place, .file = file};
  entry.prompt = fnv1a(row.value("prompt_id", ""));
  entry.step = row.at("step").get<uint32_t>();
  entry.length = static_cast<uint32_t>(line.size());
  entry.num_tokens = static_cast<uint32_t>(row.value("logprobs", Json::array()).size());
  entry.reward = float_or_nan(row, "reward");
  entry.advantage = float_or_nan(row, "advantage");
  entry.sample = row.value("sample", 0);
  bool has_failed = false;
  const Json rewards = row.value("rewards", Json::object());
  for (const auto& [name, cell] : rewards.items())
    has_failed |= cell.at("status") != "ok" && cell.at("status") != "skipped";
  const auto flag_if = [](bool is_set, uint32_t flag) { return is_set ? flag : 0; };
  entry.flags = flag_if(row.value("finish_reason", "") == "length", kIsCut) |
                flag_if(row.value("masked", false), kIsMasked) |
                flag_if(row.contains("untrained"), kIsUntrained) | flag_if(has_failed, kHasFailedReward);
  return entry;
}

inline std::string bytes_of(std::span<const CompletionEntry> entries) {
  return {reinterpret_cast<const char*>(entries.data()), entries.size_bytes()};
}

class IndexCase : public testing::Test {
 protected:
  IndexCase() : run_(RunDirectory::create(scratch_.path() / "run", "", present_time())) {}

  /// A completion whose length, figures and flags are random.
  Json random_row(int64_t step, int64_t sample) {
    static const char* const kTexts[] = {"", "a\"b\\", "\"step\":7,{[", "\u00e9\n\U0001F600", "plain text"};
    const std::string prompt_id = "train.jsonl:" + std::to_string(random_() % 5);
    Json row{{"step", step}, {"prompt_id", prompt_id}, {"sample", sample}};
    row["completion"] = std::string(random_() % 40, 'x') + kTexts[random_() % 5];
    row["finish_reason"] = random_() % 4 == 0 ? "length" : "stop";
    row["reward"] = random_() % 5 == 0 ? Json(nullptr) : Json(static_cast<double>(random_() % 1000) / 7);
    row["rewards"]["right"] = {{"score", 1.5}, {"status", random_() % 6 == 0 ? "timeout" : "ok"}};
    row["advantage"] = random_() % 5 == 0 ? Json(nullptr) : Json(-0.125 * static_cast<double>(random_() % 9));
    row["logprobs"] = Json::array();
    for (size_t i = random_() % 4; i > 0; --i) row["logprobs"].push_back(-0.1 * static_cast<double>(i));
    if (random_() % 6 == 0) row["masked"] = true;
    if (random_() % 6 == 0) row["untrained"] = "no_difference";
    return row;
  }

  void write_step(CompletionsLog& log, int64_t step, int64_t num_samples = 3) {
    std::vector<Json> rows;
    for (int64_t i = 0; i < num_samples; ++i) rows.push_back(random_row(step, i - 1));
    log.write(rows);
  }

  /// What the index must hold for the lines that there are.
  std::vector<CompletionEntry> wanted() const {
    std::vector<CompletionEntry> entries;
    const CompletionFiles files(root());
    for (const int64_t file : files.files()) {
      files.for_each_line(file, 0, [&](std::string_view line, int64_t place) {
        entries.push_back(parsed_entry(std::string(line), place, static_cast<uint32_t>(file)));
      });
    }
    return entries;
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for_each_completion(root(), std::nullopt, [&](const std::string& line) { lines.push_back(line); });
    return lines;
  }

  void expect_index(const std::string& what = "") const {
    EXPECT_TRUE(read_text(index_path()) == "COHORTI1" + bytes_of(wanted())) << what;
  }

  /// Whether a reader has all lines of the run.
  void expect_all(const CompletionIndex& index, const std::string& what = "") const {
    ASSERT_TRUE(bytes_of(index.entries()) == bytes_of(wanted())) << what;
    const std::vector<std::string> all = lines();
    ASSERT_EQ(all.size(), index.entries().size()) << what;
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(index.line(index.entries()[i]), all[i]) << what;
  }

  std::filesystem::path root() const { return run_.root(); }
  std::filesystem::path index_path() const { return run_.root() / "completions.index"; }
  std::filesystem::path current_path() const { return run_.completions_file(); }

  TemporaryDirectory scratch_;
  RunDirectory run_;
  std::mt19937 random_{7};
};

}  // namespace cohort
