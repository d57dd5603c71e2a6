// Text similarity of the stated answer and a reference.
#include "cohort/rewards/answer_text.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/text_similarity.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

struct TextSimilarityKeys {
  std::string metric;
  std::string column;

  void describe(FieldVisitor& f) {
    f("metric", metric, "How alike is measured; rouge_l when empty.",
      one_of({"", "exact", "fuzzy_match", "bleu", "chrf", "rouge_l"}));
    describe_reference_column(f, column);
  }
};

/// A longer answer or reference is not compared: the work grows with the product of the lengths.
constexpr size_t kMaxBytes = size_t{1} << 16;

double exact(std::string_view text, std::string_view reference) { return text == reference ? 1.0 : 0.0; }

struct Metric {
  const char* name;
  double (*measure)(std::string_view text, std::string_view reference);
};

constexpr Metric kMetrics[] = {{"rouge_l", rouge_l},
                               {"exact", exact},
                               {"fuzzy_match", fuzzy_match},
                               {"bleu", sentence_bleu},
                               {"chrf", chrf}};

const Metric& find_metric(const std::string& reward, const std::string& name) {
  if (name.empty()) return kMetrics[0];
  for (const Metric& metric : kMetrics) {
    if (name == metric.name) return metric;
  }
  throw ConfigError(str("reward ", reward, ": unknown `metric` \"", name, "\""));
}

class TextSimilarityReward : public Reward {
 public:
  TextSimilarityReward(const Metric& metric, std::string column)
      : metric_(metric), column_(std::move(column)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const auto reference = column_text(prompt.fields, column_);
    if (!reference || trim(*reference).empty() || reference->size() > kMaxBytes) {
      return {0.0, RewardStatus::kUnparsed,
              str(prompt.id, ": column \"", column_, "\" holds no text, or more than ", kMaxBytes, " bytes")};
    }
    const std::string_view answer = stated_answer(completion.text).text;
    if (answer.size() > kMaxBytes) {
      return {0.0, RewardStatus::kOk, str("the answer has more than ", kMaxBytes, " bytes")};
    }
    return {metric_.measure(answer, trim(*reference)), RewardStatus::kOk, ""};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const auto reference = column_text(prompt.fields, column_);
    return {{"answer", shown(stated_answer(completion.text).text)},
            {"reference", reference ? shown(trim(*reference)) : "none"},
            {"metric", metric_.name}};
  }

 private:
  const Metric& metric_;
  std::string column_;
};

}  // namespace

RewardMaker text_similarity_reward() {
  return reward_maker<TextSimilarityKeys>([](const RewardConfig& config, const TextSimilarityKeys& keys) {
    return std::make_unique<TextSimilarityReward>(find_metric(config.name, keys.metric),
                                                  keys.column.empty() ? "answer" : keys.column);
  });
}

}  // namespace cohort
