// The frozen pairs of tests/libs/answers/golden.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "libs/common/json_value.h"

namespace cohort {

inline std::vector<Json> golden_pairs() {
  const std::string folder = COHORT_SOURCE_DIR "/tests/libs/answers/golden/";
  std::vector<std::string> paths = {folder + "math_pairs.jsonl", folder + "math_completions.jsonl"};
  if (const char* other = std::getenv("COHORT_MATH_PAIRS")) paths = {other};  // pairs made with another seed
  std::vector<Json> pairs;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    const size_t num_before = pairs.size();
    for (std::string line; std::getline(file, line);) pairs.push_back(Json::parse(line));
    EXPECT_GT(pairs.size(), num_before) << path;
  }
  return pairs;
}

}  // namespace cohort
