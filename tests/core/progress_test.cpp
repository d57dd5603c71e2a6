#include "cohort/core/progress.h"

#include <gtest/gtest.h>

#include "cohort/core/log.h"

namespace cohort {
namespace {

class ProgressFile : public testing::Test {
 protected:
  ~ProgressFile() override { std::fclose(file_); }

  std::string content() {
    std::rewind(file_);
    std::string text(1000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }

  std::FILE* file_ = std::tmpfile();
};

TEST_F(ProgressFile, WritesALineEveryFewSecondsAndTheLast) {
  {
    ProgressLine progress(file_, 5.0);
    progress.show("step 1", 100.0);
    progress.show("step 2", 104.9);
    progress.show("step 3", 105.0);
    progress.show("step 4", 106.0);
  }
  EXPECT_EQ(content(), "step 1\nstep 3\nstep 4\n");
}

TEST_F(ProgressFile, FinishesOnce) {
  ProgressLine progress(file_, 5.0);
  progress.finish();
  progress.show("step 1", 0.0);
  progress.finish();
  EXPECT_EQ(content(), "step 1\n");
}

TEST(Log, WritesOneLineToStandardError) {
  testing::internal::CaptureStderr();
  log_info("step ", 3);
  log_warn("slow");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "step 3\nwarning: slow\n");
}

}  // namespace
}  // namespace cohort
