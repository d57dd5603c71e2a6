#include "cohort/train/generation_defaults.h"

#include <gtest/gtest.h>

#include <fstream>

namespace cohort {
namespace {

TEST(IgnoredSamplingDefaults, AreNamedWithTheirValues) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "cohort_generation_defaults";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(ignored_sampling_defaults(folder), "");
  const auto ignored = [&](const char* text) {
    std::ofstream(folder / "generation_config.json") << text;
    return ignored_sampling_defaults(folder);
  };
  EXPECT_EQ(ignored(R"({"eos_token_id": [1, 2], "top_k": null, "transformers_version": "5.0"})"), "");
  EXPECT_EQ(ignored(R"({"top_p": 0.95, "temperature": 0.6, "do_sample": true})"),
            "do_sample true, temperature 0.6, top_p 0.95");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cohort
