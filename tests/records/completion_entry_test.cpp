// What a line's entry says, and lines that are none.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/records/completion_index.h"
#include "libs/common/hash.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

// The vectors that the authors of FNV publish for FNV-1a of 64 bits.
TEST(CompletionEntry, HashesAsPublished) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8);
}

TEST(CompletionEntry, HoldsTheFiguresOfALine) {
  const std::string line =
      R"({"step":12,"prompt_id":"a/b.jsonl:3","sample":-1,"prompt":"{\"step\":1}","completion":"}]",)"
      R"("finish_reason":"stop","reward":-0.5,)"
      R"("rewards":{"a":{"score":1.0,"status":"ok"},"b":{"score":null,"status":"skipped"}},)"
      R"("advantage":1.25,"prompt_ids":[1,2],"completion_ids":[3,4,5],"logprobs":[-0.1,null,-3]})";
  const CompletionEntry entry = completion_entry(line, 77, 9);
  EXPECT_EQ(entry.place, 77);
  EXPECT_EQ(entry.file, 9u);
  EXPECT_EQ(entry.step, 12u);
  EXPECT_EQ(entry.length, line.size());
  EXPECT_EQ(entry.prompt, fnv1a("a/b.jsonl:3"));
  EXPECT_EQ(entry.sample, -1);
  EXPECT_EQ(entry.num_tokens, 3u);
  EXPECT_EQ(entry.reward, -0.5F);
  EXPECT_EQ(entry.advantage, 1.25F);
  EXPECT_EQ(entry.flags, 0u);
}

TEST(CompletionEntry, TakesKeysInAnyOrderAndEscapes) {
  const std::string line = R"({ "logprobs" : [ ] , "rewards": {"step": {"step": 3}}, )"
                           R"("prompt_id": "\u00e9\n\"", "step" : 5 })";
  const CompletionEntry entry = completion_entry(line + "\r", 0, 1);
  EXPECT_EQ(entry.step, 5u);
  EXPECT_EQ(entry.num_tokens, 0u);
  EXPECT_EQ(entry.prompt, fnv1a("é\n\""));
  EXPECT_TRUE(std::isnan(entry.reward));
  EXPECT_TRUE(std::isnan(entry.advantage));
}

TEST(CompletionEntry, SetsAFlagForEachCondition) {
  const auto flags = [](const std::string& members) {
    return completion_entry("{\"step\":1," + members + "}", 0, 1).flags;
  };
  EXPECT_EQ(flags(R"("finish_reason":"length")"), kIsCut);
  EXPECT_EQ(flags(R"("masked":true)"), kIsMasked);
  EXPECT_EQ(flags(R"("masked":false)"), 0u);
  EXPECT_EQ(flags(R"("untrained":"no_difference")"), kIsUntrained);
  for (const char* status : {"unparsed", "timeout", "error", "sandbox_error"}) {
    const std::string other = R"("rewards":{"a":{"status":"ok"},"b":{"detail":"\"ok\"}","status":")";
    EXPECT_EQ(flags(other + status + "\"}}"), kHasFailedReward);
  }
  EXPECT_EQ(flags(R"("injected":[[1,4]])"), kHasInjected);
  EXPECT_EQ(flags(R"("injected":[])"), 0u);
  EXPECT_EQ(flags(R"("demonstration":true)"), kIsDemonstration);
  EXPECT_EQ(flags(R"("environment_failure":"it died")"), kHasFailedEnvironment);
  EXPECT_EQ(flags(R"("text":"\"injected\":[1]","masked":true,"finish_reason":"length")"), kIsMasked | kIsCut);
}

TEST(CompletionEntry, RefusesWhatIsNoCompletion) {
  const std::string line = R"({"step":1,"a":"x\"y","b":[1,{"c":"]"}],"d":-1.5e3})";
  EXPECT_NO_THROW(completion_entry(line, 0, 1));
  for (size_t size = 0; size < line.size(); ++size)
    EXPECT_THROW(completion_entry(line.substr(0, size), 0, 1), FormatError) << line.substr(0, size);
  for (const char* bad : {"[1]", "{}", "{\"step\":-1}", "{\"step\":null}", "{\"step\":1}}", "{\"step\":1,}",
                          "{\"step\":4294967296}", "{\"step\":1,\"a\":tru}"})
    EXPECT_THROW(completion_entry(bad, 0, 1), FormatError) << bad;
  const std::string message = message_of<FormatError>([] { completion_entry("{}", 1234, 1); });
  EXPECT_NE(message.find("byte 1234"), std::string::npos) << message;
}

}  // namespace
}  // namespace cohort
