// What tests of advantages share.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "cohort/objectives/presets.h"
#include "tests/objectives/doubles.h"

namespace cohort {

inline std::vector<double> numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kDouble).flatten().contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

inline void expect_advantages(const at::Tensor& actual, const std::vector<double>& expected,
                              double tolerance = 1e-12) {
  const std::vector<double> values = numbers(actual);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
}

inline AdvantageConfig config_of(const char* preset) { return settings_of_preset(preset).advantages; }

}  // namespace cohort
