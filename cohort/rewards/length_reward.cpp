// Length: three schedules over the number of tokens.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "cohort/rewards/make_reward.h"

namespace cohort {
namespace {

struct LengthKeys {
  std::string schedule;
  std::optional<int64_t> min_length;
  std::optional<int64_t> max_length;
  std::string correctness;

  void describe(FieldVisitor& f) {
    f("schedule", schedule, "Schedule: linear, cosine or target; linear when empty.",
      one_of({"", "linear", "cosine", "target"}));
    f("min_length", min_length, "The shortest length, in tokens, of a linear schedule; 0 when unset.",
      at_least(0));
    f("max_length", max_length, "The longest length, in tokens; required, but for target.", at_least(1));
    f("correctness", correctness,
      "With cosine: the reward whose 1 means that a completion is right; accuracy when empty.");
  }
};

/// 1 up to min_length tokens, 0 from max_length on.
class LinearLength : public Reward {
 public:
  LinearLength(int64_t shortest, int64_t longest) : shortest_(shortest), longest_(longest) {}

  RewardResult score(const Prompt&, const Completion& completion) override {
    const auto length = completion.num_sampled();
    const double share = static_cast<double>(length - shortest_) / static_cast<double>(longest_ - shortest_);
    return {1.0 - std::clamp(share, 0.0, 1.0), RewardStatus::kOk, str(length, " tokens")};
  }

 private:
  int64_t shortest_, longest_;
};

/// Right completions fall from 1 to 0.5 as they grow to max_length, wrong ones rise from -1 to -0.5
/// (arXiv:2502.03373 section 4.1, with the values of open-r1's cosine scaled reward).
class CosineLength : public Reward {
 public:
  CosineLength(std::unique_ptr<Reward> correctness, int64_t longest)
      : correctness_(std::move(correctness)), longest_(longest) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    RewardResult judged = correctness_->score(prompt, completion);
    if (judged.status != RewardStatus::kOk) return judged;
    const auto length = static_cast<double>(completion.num_sampled());
    const double progress = std::min(1.0, length / static_cast<double>(longest_));
    const double fall = 0.25 * (1.0 + std::cos(progress * std::numbers::pi));  // 0.5 to 0
    const bool is_right = judged.score == 1.0;
    return {is_right ? 0.5 + fall : -0.5 - fall, RewardStatus::kOk,
            str(is_right ? "right, " : "wrong, ", completion.num_sampled(), " tokens")};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    return correctness_->explain(prompt, completion);
  }

 private:
  std::unique_ptr<Reward> correctness_;
  int64_t longest_;
};

/// 1 at the row's column `target_length`, falling linearly to 0 at none and at twice as many tokens; a
/// bounded form of arXiv:2503.04697 eq. 1.
class TargetLength : public Reward {
 public:
  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const auto column = prompt.fields.find("target_length");
    if (column == prompt.fields.end() || !column->is_number() || !(column->get<double>() > 0.0)) {
      return {0.0, RewardStatus::kUnparsed,
              str(prompt.id, ": column \"target_length\" must be a positive number")};
    }
    const auto target = column->get<double>();
    const double miss = std::abs(static_cast<double>(completion.num_sampled()) - target) / target;
    return {std::max(0.0, 1.0 - miss), RewardStatus::kOk,
            str(completion.num_sampled(), " tokens of ", target)};
  }
};

[[noreturn]] void refuse(const RewardConfig& config, const char* what) {
  throw ConfigError(str("reward ", config.name, ": ", what));
}

std::unique_ptr<Reward> make_length(const RewardConfig& config, const LengthKeys& keys) {
  const std::string schedule = keys.schedule.empty() ? "linear" : keys.schedule;
  if (schedule != "cosine" && !keys.correctness.empty())
    refuse(config, "`correctness` is for schedule = \"cosine\"");
  if (schedule != "linear" && keys.min_length) refuse(config, "`min_length` is for schedule = \"linear\"");
  if (schedule == "target") {
    if (keys.max_length) refuse(config, "`max_length` has no effect with schedule = \"target\"");
    return std::make_unique<TargetLength>();
  }
  if (!keys.max_length) refuse(config, "type \"length\" needs `max_length`");
  if (schedule == "cosine") {
    const std::string type = keys.correctness.empty() ? "accuracy" : keys.correctness;
    return std::make_unique<CosineLength>(make_reward({.name = config.name, .type = type}), *keys.max_length);
  }
  const int64_t shortest = keys.min_length.value_or(0);
  if (shortest >= *keys.max_length) refuse(config, "`min_length` must be below `max_length`");
  return std::make_unique<LinearLength>(shortest, *keys.max_length);
}

}  // namespace

RewardMaker length_reward() { return reward_maker<LengthKeys>(make_length); }

}  // namespace cohort
