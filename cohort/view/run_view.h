// One run as the page shows it: its records, read as they grow, and what is made of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/explain/run_finding.h"
#include "cohort/records/completion_index.h"
#include "cohort/records/figures.h"
#include "cohort/view/text_search.h"
#include "cohort/view/token_texts.h"

namespace cohort {

/// Reads the records of a run and follows them. Not thread-safe.
class RunView {
 public:
  /// Throws ConfigError if there is no run, and FormatError for damaged records.
  explicit RunView(const std::filesystem::path& run);

  /// Takes in what the run wrote since. Returns whether anything changed. Damaged or vanished records are
  /// kept as a problem, which `check()` throws until they can be read again.
  bool update();

  /// Throws FormatError if the last update failed.
  void check() const;

  const std::filesystem::path& path() const { return path_; }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  /// config.toml as nested objects.
  const Json& recipe() const { return recipe_; }
  const Figures& figures() const { return figures_; }
  CompletionIndex& completions() { return completions_; }
  RunEvidence evidence() { return {recipe_, figures_, completions_}; }
  /// Searches of `completions()`.
  TextSearches& searches() { return searches_; }
  RunTokenizer& tokenizer() { return tokenizer_; }

  /// Counts the updates that changed something.
  int64_t version() const { return version_; }

  /// The command that made the run: train, adversarial-train, sft, dpo or reward-train.
  std::string kind() const;

  /// Whether the run has taken its last step, or has written its final model.
  bool is_finished() const;

  /// `train.max_steps`; 0 if it is unset.
  int64_t max_steps() const;

  /// What find_problems() says, found anew if the run has changed.
  const std::vector<RunFinding>& findings();

 private:
  bool read_recipe();

  std::filesystem::path path_;
  std::string name_;
  Json recipe_ = Json::object();
  std::filesystem::file_time_type recipe_time_{};
  Figures figures_;
  CompletionIndex completions_;
  TextSearches searches_;
  int64_t num_loads_ = 0;  ///< of the index, at the last update
  RunTokenizer tokenizer_;
  std::vector<RunFinding> findings_;
  std::string problem_;
  int64_t version_ = 0, findings_version_ = -1;
};

/// A setting by its dotted key, such as "train.max_steps"; null if the recipe lacks it.
const Json* find_setting(const Json& recipe, std::string_view key);

/// The command that prints the completions of an evidence, its words quoted for a shell.
std::string completions_command(const RunView& run, const SampleEvidence& sample);

/// Opens runs and gives each a name of its own: the last part of its path, with as many parts before it as
/// tell the runs apart. Throws as RunView does.
std::vector<RunView> open_runs(const std::vector<std::filesystem::path>& paths);

}  // namespace cohort
