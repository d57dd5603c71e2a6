// Repetition: -p times the share of n-grams of tokens that came before (arXiv:2502.03373, appendix C.2; TRL's
// get_repetition_penalty_reward).
#include <set>

#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

struct RepetitionKeys {
  std::optional<int64_t> ngram_size;
  std::optional<double> max_penalty;

  void describe(FieldVisitor& f) {
    f("ngram_size", ngram_size, "Tokens of an n-gram, 3 when unset.", at_least(1));
    f("max_penalty", max_penalty, "Reward where all n-grams repeat, -1 when unset.", between(-1e6, 0.0));
  }
};

class RepetitionReward : public Reward {
 public:
  RepetitionReward(int64_t ngram_size, double max_penalty)
      : ngram_size_(ngram_size), max_penalty_(max_penalty) {}

  RewardResult score(const Prompt&, const Completion& completion) override {
    std::vector<int32_t> ids;  // the sampled ones
    for_each_sampled(completion, [&](int64_t place) { ids.push_back(completion.token_ids[place]); });
    const auto count = static_cast<int64_t>(ids.size()) - ngram_size_ + 1;
    if (count <= 0) return {0.0, RewardStatus::kOk, "shorter than an n-gram"};
    const auto less = [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(ids.begin() + a, ids.begin() + a + ngram_size_, ids.begin() + b,
                                          ids.begin() + b + ngram_size_);
    };
    std::set<int64_t, decltype(less)> different(less);
    for (int64_t i = 0; i < count; ++i) different.insert(i);
    const double share = 1.0 - static_cast<double>(different.size()) / static_cast<double>(count);
    // Without a repetition 0, not -0.
    return {share == 0.0 ? 0.0 : share * max_penalty_, RewardStatus::kOk,
            str(count - static_cast<int64_t>(different.size()), " of ", count, " n-grams repeat")};
  }

 private:
  int64_t ngram_size_;
  double max_penalty_;
};

}  // namespace

RewardMaker repetition_reward() {
  return reward_maker<RepetitionKeys>([](const RewardConfig&, const RepetitionKeys& keys) {
    return std::make_unique<RepetitionReward>(keys.ngram_size.value_or(3), keys.max_penalty.value_or(-1.0));
  });
}

}  // namespace cohort
