// Which settings a resumed run takes anew: those that change no result, and those that the user accepts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/config_io.h"
#include "cohort/core/json.h"

namespace cohort {

/// What the command line says of resuming.
struct ResumeOptions {
  bool resume = false;
  std::vector<std::string> accept_changed;  ///< keys, or the beginnings of keys up to a dot

  /// Whether `key` or a section around it is accepted.
  bool accepts(const std::string& key) const;
};

/// Fingerprints of the files that every OnResume::kSameFiles setting leads to, by key: a weight file by its
/// size and samples of its bytes, other files whole. Settings without a value are left out.
Json file_fingerprints(const Section& settings);

/// What differs between a run's settings and those given now. A path to the same files is no difference;
/// `run_files` is what file_fingerprints said when the run began, or null where it was not written down.
std::vector<SettingChange> resumed_changes(const Section& before, const Section& now, const Json& run_files);

/// Throws ConfigError for an accepted name that neither the run's settings nor those given now have.
void check_accepted(const ResumeOptions& options, const Section& before, const Section& now);

/// Throws ConfigError, naming all of them, for changes that change results and were not accepted.
void check_changes(const std::vector<SettingChange>& changes, const ResumeOptions& options,
                   const std::filesystem::path& config_file);

/// One line for the log: each change, and what another length means for a schedule that ends with the run.
std::string describe_changes(const std::vector<SettingChange>& changes, const std::string& lr_scheduler_type);

}  // namespace cohort
