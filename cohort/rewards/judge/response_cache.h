// Answers of a model, kept in files: what was asked before is not asked again.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <string>

#include "cohort/core/json.h"

namespace cohort {

/// One file for each answer, named by a hash of the request and holding the request itself, so that no
/// collision gives another request's answer. Files appear whole or not at all; one that is damaged counts as
/// missing and is written anew. Any thread, and any number of processes, may use one folder.
class ResponseCache {
 public:
  /// Makes the folder. Throws ConfigError, beginning with `where`, where it can't be written to.
  ResponseCache(std::filesystem::path folder, const std::string& where);

  std::optional<std::string> find(const Json& request) const;

  /// A full disk costs the entry and one warning.
  void store(const Json& request, const std::string& answer);

 private:
  std::filesystem::path file_of(const std::string& request) const;
  void write(const std::filesystem::path& file, const std::string& content);

  std::filesystem::path folder_;
  std::atomic<int64_t> num_written_ = 0;
  std::atomic<bool> has_warned_ = false;
};

}  // namespace cohort
