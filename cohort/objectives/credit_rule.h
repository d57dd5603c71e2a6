// What a way of giving tokens their advantages reads and does, without torch.
#pragma once

#include <span>
#include <string>

namespace cohort {

/// A line of credits.def.
struct CreditRule {
  const char* name;
  const char* text;
  bool is_of_steps = false;           ///< the rewards are those of steps
  bool sums_later_steps = false;      ///< of these, all from the token on
  bool adds_outcomes = false;         ///< the advantage of the completion's outcome beside those of steps
  bool is_of_states = false;          ///< needs states that completions share
  bool has_state_values = false;      ///< of these states, with baseline state_group
  bool is_of_critic = false;          ///< needs a critic's values, with baseline critic
  bool has_token_advantages = false;  ///< tokens of one completion differ under any settings
  bool discounts = false;             ///< reads gamma
  bool tokens_pay_kl = false;         ///< each token pays its own KL, not the completion's score
  bool reads_entropies = false;       ///< of tokens
  bool shares_by_entropy = false;     ///< has statistics of its own over right and wrong completions
};

/// In the order of credits.def.
std::span<const CreditRule> credit_rules();

/// Throws InternalError for an unknown name.
const CreditRule& find_credit_rule(const std::string& name);

}  // namespace cohort
