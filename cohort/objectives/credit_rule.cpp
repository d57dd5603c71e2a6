#include "cohort/objectives/credit_rule.h"

#include <array>

#include "cohort/objectives/choices.h"

namespace cohort {
namespace {

constexpr auto kCreditRules = std::to_array<CreditRule>({
#define CREDIT(id, words, function, ...) {.name = #id, .text = words __VA_OPT__(, ) __VA_ARGS__},
#include "cohort/objectives/credits.def"
#undef CREDIT
});

}  // namespace

std::span<const CreditRule> credit_rules() { return kCreditRules; }

const CreditRule& find_credit_rule(const std::string& name) {
  return find_choice(kCreditRules, name, "credit");
}

}  // namespace cohort
