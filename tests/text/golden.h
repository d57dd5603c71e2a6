// The golden files of tests/text/golden, written by tools/make_golden/tokenizer_golden.py.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/text/component.h"

namespace cohort {

inline std::filesystem::path golden_path(const std::string& name) {
  return std::filesystem::path(COHORT_SOURCE_DIR) / "tests/text/golden" / name;
}

/// The records behind the first line, which names the version of the library that made them.
inline std::vector<TokenizerJson> golden_records(const std::string& name) {
  std::ifstream file(golden_path(name));
  std::vector<TokenizerJson> records;
  for (std::string line; std::getline(file, line);) records.push_back(TokenizerJson::parse(line));
  COHORT_CHECK(records.size() > 1 && records[0].contains("tokenizers"), name);
  records.erase(records.begin());
  return records;
}

inline TokenizerJson golden_tokenizer_json(const std::string& name) {
  std::ifstream file(golden_path(name) / "tokenizer.json");
  return TokenizerJson::parse(file);
}

/// The message of the UserError that `action` throws; "nothing thrown" otherwise.
inline std::string error_of(const auto& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace cohort
