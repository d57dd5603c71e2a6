#include "cohort/rewards/sandbox_protocol.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

SandboxJob some_job() {
  SandboxJob job;
  job.command = {"/bin/sh", "-c", "true"};
  job.environment = {"A=b", ""};
  job.files = {{"source", "text"}};
  return job;
}

TEST(SandboxProtocol, MessagesComeBackAsTheyWere) {
  SandboxJob job = some_job();
  job.files.push_back({"program", std::string("\0\xff", 2), true});
  job.input = std::string(100000, 'x');
  job.result_file = "result";
  const std::optional<SandboxJob> read = decode_job(encode(job));
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read), encode(job));
  SandboxOutcome outcome;
  outcome.code = -9;
  outcome.wall_us = int64_t{1} << 40;
  const std::optional<SandboxOutcome> back = decode_outcome(encode(outcome));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->code, -9);
  EXPECT_EQ(back->wall_us, int64_t{1} << 40);
}

TEST(SandboxProtocol, NothingElseIsRead) {
  const std::string bytes = encode(some_job());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_job(bytes.substr(0, size))) << size;
  EXPECT_FALSE(decode_job(bytes + "x"));
  for (size_t i = 0; i + 8 <= bytes.size(); ++i) {
    std::string broken = bytes;
    broken.replace(i, 8, std::string(8, '\xff'));
    decode_job(broken);
    decode_outcome(broken);
  }
  EXPECT_FALSE(read_sandbox_header(std::string(8, '\xff')));
}

}  // namespace
}  // namespace cohort
