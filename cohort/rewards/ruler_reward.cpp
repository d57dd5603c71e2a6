// RULER: a language model on a server ranks the completions of a group, as ruler_score_group of OpenPipe's
// ART does.
#include "cohort/core/error.h"
#include "cohort/rewards/judge/judge_client.h"
#include "cohort/rewards/judge/ruler_prompt.h"
#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

struct RulerKeys {
  JudgeServerKeys server;
  std::string rubric;

  void describe(FieldVisitor& f) {
    server.describe_url(f);
    server.describe_model(f);
    server.endpoint.describe_api_key_env(f);
    f("rubric", rubric, "What a good trajectory is, with {COLUMN}, or @FILE; a general text when empty.");
    f("temperature", server.temperature, "The sampling temperature; the server's own when unset.",
      between(0.0, 2.0));
    server.describe_requests(f);
  }
};

class RulerReward : public Reward {
 public:
  RulerReward(const std::string& name, const RulerKeys& keys)
      : client_(name, "ruler", keys.server, nullptr, machine_clock()),
        prompt_(keys.rubric, str("reward ", name, ": ")) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).front();
  }

  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    if (const auto reason = prompt_.refusal(rows)) return fail_rows(rows, RewardStatus::kUnparsed, *reason);
    const RulerQuestion question = prompt_.question(rows);
    RewardStatus status = RewardStatus::kOk;
    const JudgeVote vote = client_.vote(question.asked, 0, status);
    if (vote.scores.empty()) return fail_rows(rows, status, client_.without_key(vote.failure));
    std::vector<RewardResult> results;
    results.reserve(question.shown.size());
    for (const int64_t i : question.shown)
      results.push_back({vote.scores[i], RewardStatus::kOk, client_.without_key(vote.explanations[i])});
    return results;
  }

  bool compares() const override { return true; }
  bool may_recover() const override { return true; }
  int64_t num_workers() const override { return client_.num_workers(); }

 private:
  JudgeClient client_;
  RulerPrompt prompt_;
};

}  // namespace

RewardMaker ruler_reward() {
  return reward_maker<RulerKeys>([](const RewardConfig& config, const RulerKeys& keys) {
    return std::make_unique<RulerReward>(config.name, keys);
  });
}

}  // namespace cohort
