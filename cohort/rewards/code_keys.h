// The keys of the code reward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/config.h"
#include "cohort/rewards/code_language.h"

namespace cohort {

struct CodeKeys {
  CodeLanguageKeys language;
  std::optional<double> timeout_s;
  std::optional<int64_t> memory_mb;
  std::optional<int64_t> workers;
  std::vector<std::string> waive_layers;
  std::string prelude;
  std::optional<double> tolerance;
  bool all_tests = false;

  void describe(FieldVisitor& f);

  /// Throws ConfigError, beginning with `where`, for what is out of range or contradicts itself.
  void check(const std::string& where) const;
};

/// Throws ConfigError, beginning with `where`, for a name in `waive_layers` that is no layer of the sandbox:
/// a misspelled one would waive nothing, and say so far from here.
void check_sandbox_layers(const std::string& where, const std::vector<std::string>& names);

}  // namespace cohort
