#include "cohort/train/run/generation_defaults.h"

#include <gtest/gtest.h>

#include "tests/core/test_files.h"

namespace cohort {
namespace {

TEST(IgnoredSamplingDefaults, AreNamedWithTheirValues) {
  const TemporaryDirectory directory;
  const std::filesystem::path folder = directory.path();
  EXPECT_EQ(ignored_sampling_defaults(folder), "");
  const auto ignored = [&](const char* text) {
    write_text(folder / "generation_config.json", text);
    return ignored_sampling_defaults(folder);
  };
  EXPECT_EQ(ignored(R"({"eos_token_id": [1, 2], "top_k": null, "transformers_version": "5.0"})"), "");
  EXPECT_EQ(ignored(R"({"top_p": 0.95, "temperature": 0.6, "do_sample": true})"),
            "do_sample true, temperature 0.6, top_p 0.95");
}

}  // namespace
}  // namespace cohort
