// Replies of rewards outside of the program: three rows get a result each, whatever the bytes.
#include <cmath>
#include <cstdint>

#include "cohort/rewards/batch_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cohort;
  const std::string reply(reinterpret_cast<const char*>(data), size);
  Prompt prompt;
  prompt.id = "row";
  const Completion completion;
  const std::vector<RewardRow> rows(3, RewardRow{prompt, completion});
  const std::vector<RewardResult> results = read_batch_reply(reply, "b7", rows);
  COHORT_CHECK(results.size() == 3, "A row has no result.");
  const bool is_reply = is_batch_reply(reply, "b7");
  for (const RewardResult& result : results) {
    COHORT_CHECK(result.status == RewardStatus::kOk || !result.detail.empty(), "A failure has no reason.");
    COHORT_CHECK(result.status != RewardStatus::kOk || (is_reply && std::isfinite(result.score)),
                 "A score is none.");
    COHORT_CHECK(result.detail.size() < 1000, "A detail is long.");
  }
  return 0;
}
