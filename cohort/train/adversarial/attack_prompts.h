// Turns a completion of the attacker into the defender's row and prompt.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cohort/rewards/reward.h"
#include "cohort/rl/prompt_source.h"
#include "cohort/tasks/row_text.h"
#include "cohort/text/tokenizer.h"

namespace cohort {

/// The defender's prompt for a completion of the attacker. The row has the columns of the attacker's, with
/// `attack`, the text of the completion, and as `prompt` the row's `defender_prompt` with the attack in the
/// place of {attack}. Throws FormatError, beginning with the row's id, without a usable `defender_prompt`.
Prompt defender_prompt(const Prompt& prompt, const Completion& attack, const TextFormat& format);

/// The attack with a text that spells no special token, with which it could end the defender's turn.
Completion harmless(Completion attack, const Tokenizer& tokenizer);

/// The prompts of the step under way.
class AttackPrompts : public PromptSource {
 public:
  /// `attacker` gives the prompts of the attacker and must outlive this.
  explicit AttackPrompts(const PromptSource& attacker) : attacker_(attacker) {}

  /// Those that the next call of next() returns.
  void give(std::vector<Prompt> prompts) { prompts_ = std::move(prompts); }

  /// Throws InternalError unless `count` prompts were given.
  std::vector<Prompt> next(int64_t count) override;
  double epoch() const override { return attacker_.epoch(); }
  Json save() const override { return nullptr; }
  void load(const Json&) override {}

 private:
  const PromptSource& attacker_;
  std::vector<Prompt> prompts_;
};

/// Plays all attacks of a step, by group and sample, and returns a result for each.
using PlayAttacks = std::function<std::vector<RewardResult>(std::span<const RewardRow> attacks)>;

/// The reward type `opponent`. `play` is called by the thread that takes the step.
RewardType opponent_reward(std::shared_ptr<PlayAttacks> play);

/// 1 less the mean reward of the defender's samples of one attack. kError if none of them has a reward.
RewardResult attack_reward(const Group& games);

}  // namespace cohort
