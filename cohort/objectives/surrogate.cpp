#include "cohort/objectives/surrogate.h"

#include <array>

#include "cohort/core/error.h"
#include "cohort/objectives/policy_term.h"

namespace cohort {
namespace {

constexpr auto kSurrogates = std::to_array<SurrogateLine>({
#define SURROGATE(id, Type, words) {#id, words},
#include "cohort/objectives/surrogates.def"
#undef SURROGATE
});

}  // namespace

std::span<const SurrogateLine> surrogates() { return kSurrogates; }

const Surrogate& surrogate_of(const LossConfig& config) {
#define SURROGATE(id, Type, words) \
  if (config.surrogate == #id) return config.id;
#include "cohort/objectives/surrogates.def"
#undef SURROGATE
  COHORT_CHECK(false, "surrogate is ", config.surrogate);
}

void describe_surrogates(LossConfig& config, FieldVisitor& f) {
#define SURROGATE(id, Type, words) config.id.describe(f);
#include "cohort/objectives/surrogates.def"
#undef SURROGATE
}

at::Tensor Surrogate::group_loss_sum(const LossInput&, const TokenView&, const LossConfig&) const {
  COHORT_CHECK(false, "this surrogate has no loss of groups");
}

int64_t Surrogate::num_groups(const LossInput&, const TokenView&, const LossConfig&) const {
  COHORT_CHECK(false, "this surrogate has no loss of groups");
}

}  // namespace cohort
