// Process: what a process-reward model, a decoder with a ForTokenClassification head, gives each step of a
// completion (Lightman et al., arXiv:2305.20050): the probability of the label for right steps at the last
// token of the step's separator, as TRL's PRMTrainer trains it.
#include <algorithm>
#include <cmath>

#include "cohort/reward_models/make_model_reward.h"
#include "cohort/reward_models/reward_text.h"
#include "cohort/reward_models/score_rows.h"
#include "cohort/reward_models/scoring_model.h"
#include "cohort/reward_models/steps.h"

namespace cohort {
namespace {

struct ProcessKeys {
  ScoringKeys model;
  std::string step_separator;
  std::string aggregation;

  void describe(FieldVisitor& f) {
    model.describe(f);
    f("step_separator", step_separator,
      "What ends a step; a line's end when empty. The one that the model was trained with.");
    f("aggregation", aggregation, "Which of the steps' rewards is the completion's score; min when empty.",
      one_of({"", "min", "mean", "last"}));
  }
};

/// The softmax of a label; a head with one label gives its score as it is.
double label_reward(const LabelScores& scores, int64_t label) {
  if (scores.size() == 1) return scores.front();
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0;
  for (const float score : scores) sum += std::exp(score - largest);
  return std::exp(scores.at(label) - largest) / sum;
}

double aggregate(const std::vector<StepReward>& steps, const std::string& aggregation) {
  double least = steps.front().score, sum = 0.0;
  for (const StepReward& step : steps) {
    least = std::min(least, step.score);
    sum += step.score;
  }
  if (aggregation == "mean") return sum / static_cast<double>(steps.size());
  return aggregation == "last" ? steps.back().score : least;
}

class ProcessReward : public Reward {
 public:
  ProcessReward(const std::string& name, const ProcessKeys& keys, const JudgedPolicy& policy)
      : model_(name, keys.model, HeadKind::kTokenClassification),
        text_(keys.model.path, model_.config(), policy),
        label_(choose_label(name, keys.model, model_.config(), right_label(model_.config()))),
        separator_(keys.step_separator.empty() ? "\n" : keys.step_separator),
        aggregation_(keys.aggregation) {
    if (text_.tokenizer().encode(separator_, {.add_special_tokens = false}).empty())
      throw ConfigError(str("reward ", name, ": `step_separator` has no tokens"));
  }

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).front();
  }

  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    const auto show = [&](const RewardRow& row) {
      const ShownText shown = text_.show(row.prompt, row.completion);
      StepTokens steps =
          step_tokens(text_.tokenizer(), shown.completion_ids, row.completion.text, separator_);
      ScoredSequence sequence{shown.prompt_ids, std::move(steps.ids), {}};
      const auto before = static_cast<int64_t>(shown.prompt_ids.size());
      for (const int64_t end : steps.ends) sequence.positions.push_back(before + end - 1);
      return sequence;
    };
    const auto judge = [&](size_t i, const std::vector<LabelScores>& scores) {
      RewardResult result;
      const std::vector<int64_t> ends = ends_in_completion(rows[i]);
      for (size_t step = 0; step < scores.size(); ++step)
        result.steps.push_back({ends.at(step), label_reward(scores[step], label_)});
      result.score = aggregate(result.steps, aggregation_);
      result.detail = str(scores.size(), scores.size() == 1 ? " step" : " steps");
      return result;
    };
    return score_rows(model_, rows, show, judge);
  }

  int64_t batch_size() const override { return kModelBatch; }
  bool gives_steps() const override { return true; }
  int64_t memory_bytes() const override { return model_.memory_bytes(); }

 private:
  /// As PRMTrainer's labels are: 0 for a wrong step, 1 for a right one.
  static std::optional<int64_t> right_label(const DecoderConfig& model) {
    return model.num_labels == 2 ? std::optional<int64_t>(1) : std::nullopt;
  }

  /// In the policy's tokens; the last step ends with the completion.
  std::vector<int64_t> ends_in_completion(const RewardRow& row) const {
    const Steps steps = split_steps(row.completion.text, separator_);
    std::vector<int32_t> ids = row.completion.token_ids;
    const Tokenizer* tokenizer = text_.policy_tokenizer();
    if (tokenizer == nullptr) {
      tokenizer = &text_.tokenizer();
      ids = tokenizer->encode(row.completion.text, {.add_special_tokens = false});
    }
    std::vector<int64_t> ends = token_ends(*tokenizer, ids, steps.ends);
    ends.back() = static_cast<int64_t>(ids.size());
    return ends;
  }

  ScoringModel model_;
  RewardText text_;
  int64_t label_;
  std::string separator_;
  std::string aggregation_;
};

}  // namespace

RewardMaker process_reward(const JudgedPolicy& policy) {
  return reward_maker<ProcessKeys>([policy](const RewardConfig& config, const ProcessKeys& keys) {
    return std::make_unique<ProcessReward>(config.name, keys, policy);
  });
}

}  // namespace cohort
