// What all surrogates have: a token's policy term, keys of their own, and what other code asks of them. A
// surrogate is a struct in files of its own and a line of surrogates.def. It needs no torch to be declared,
// so that reading a recipe needs none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/config.h"

namespace at {
class Tensor;
}  // namespace at

namespace cohort {

struct LossConfig;
struct LossInput;
struct ObjectiveSettings;
struct PolicyTerm;
struct TokenView;

/// What other code must know of a surrogate.
struct SurrogateTraits {
  bool needs_token_level = false;         ///< has a ratio of its own: importance_sampling_level must be token
  bool has_sequence_ratio = false;        ///< one ratio for all tokens of a completion
  bool couples_tokens = false;            ///< a token's term depends on all of its completion
  bool is_of_groups = false;              ///< its loss is group_loss_sum; a token's term is 0
  bool corrects_mismatch = false;         ///< multiplies by the weights of importance_sampling_mode itself
  bool trains_without_advantage = false;  ///< has a gradient where the advantage is 0
};

/// The settings of one surrogate and its formula; LossConfig holds one of each by value.
struct Surrogate {
  virtual ~Surrogate() = default;

  virtual SurrogateTraits traits() const { return {}; }

  /// Declares its keys.
  virtual void describe(FieldVisitor&) {}

  /// Throws ConfigError, naming the keys, where its loss cannot be computed; `config` is expanded.
  virtual void check(const LossConfig&) const {}

  /// Throws ConfigError for a composition known to be wrong with it, and adds a line for all that is
  /// doubtful.
  virtual void advise(const ObjectiveSettings&, std::vector<std::string>& /*advice*/) const {}

  /// The term of each token, [M]; `ratio` [M] is that of importance_sampling_level. Gradient flows through
  /// `view.policy`, `view.log_ratio` and `ratio`.
  virtual PolicyTerm term(const TokenView& view, const at::Tensor& ratio, const LossConfig& config) const = 0;

  /// A loss of groups: the sum over those that take part, a scalar with gradient through `view.policy`.
  virtual at::Tensor group_loss_sum(const LossInput& input, const TokenView& view,
                                    const LossConfig& config) const;

  /// A loss of groups: how many take part.
  virtual int64_t num_groups(const LossInput& input, const TokenView& view, const LossConfig& config) const;
};

/// The name and the text of a line of surrogates.def.
struct SurrogateLine {
  const char* name;
  const char* text;
};

/// In the order of surrogates.def.
std::span<const SurrogateLine> surrogates();

/// The one that `config.surrogate` names. Throws InternalError for an unknown name.
const Surrogate& surrogate_of(const LossConfig& config);

/// Declares the keys of all, in the order of surrogates.def.
void describe_surrogates(LossConfig& config, FieldVisitor& f);

}  // namespace cohort
