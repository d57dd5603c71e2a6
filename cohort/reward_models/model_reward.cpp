// Model: the score that a reward model, a decoder with a ForSequenceClassification head, gives a prompt with
// its completion (Ouyang et al., arXiv:2203.02155): the logit at the last token.
#include "cohort/reward_models/make_model_reward.h"
#include "cohort/reward_models/reward_text.h"
#include "cohort/reward_models/score_rows.h"
#include "cohort/reward_models/scoring_model.h"

namespace cohort {
namespace {

class ModelReward : public Reward {
 public:
  ModelReward(const std::string& name, const ScoringKeys& keys, const JudgedPolicy& policy)
      : model_(name, keys, HeadKind::kSequenceClassification),
        text_(keys.path, model_.config(), policy),
        label_(choose_label(name, keys, model_.config(), std::nullopt)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).front();
  }

  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    const auto show = [&](const RewardRow& row) {
      ShownText shown = text_.show(row.prompt, row.completion);
      return ScoredSequence{std::move(shown.prompt_ids), std::move(shown.completion_ids), {}};
    };
    const auto judge = [&](size_t, const std::vector<LabelScores>& scores) {
      return RewardResult{scores.front().at(label_), RewardStatus::kOk, ""};
    };
    return score_rows(model_, rows, show, judge);
  }

  int64_t batch_size() const override { return kModelBatch; }
  int64_t memory_bytes() const override { return model_.memory_bytes(); }

 private:
  ScoringModel model_;
  RewardText text_;
  int64_t label_;
};

}  // namespace

RewardMaker model_reward(const JudgedPolicy& policy) {
  return reward_maker<ScoringKeys>([policy](const RewardConfig& config, const ScoringKeys& keys) {
    return std::make_unique<ModelReward>(config.name, keys, policy);
  });
}

}  // namespace cohort
