#include <optional>
#include <string>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_batch.h"
#include "cohort/objectives/baseline.h"
#include "cohort/objectives/controllers.h"
#include "cohort/objectives/entropy_credit.h"
#include "cohort/objectives/group_filter.h"
#include "cohort/objectives/sample_statistics.h"
#include "cohort/objectives/scale.h"
#include "cohort/objectives/state_credit.h"
#include "cohort/objectives/token_credit.h"
#include "python/piece.h"
#include "python/pieces.h"

namespace py = pybind11;
using py::arg;
using py::kw_only;

namespace cohort::python {
namespace {

using MaybeTensor = std::optional<at::Tensor>;
using MaybeIntegers = std::optional<Integers>;
using Numbers = std::vector<double>;

template <typename Function, typename... Extra>
void add(py::module_& module, const char* name, Function function, const Extra&... extra) {
  module.def(name, function, extra..., documentation(name));
}

Numbers numbers_or_none(const MaybeTensor& tensor, const char* what, size_t size) {
  if (!tensor) return {};
  Numbers numbers = numbers_of(*tensor, what);
  if (numbers.size() != size)
    throw UserError(str(what, " has ", numbers.size(), " numbers, but must have ", size));
  return numbers;
}

void check_count(const Integers& integers, size_t size, const char* what) {
  if (integers.values.size() != size)
    throw UserError(str(what, " has ", integers.values.size(), " numbers, but must have ", size));
  for (const int64_t value : integers.values)
    if (value < 0) throw UserError(str(what, " holds ", value, ", but must be at least 0"));
}

at::Tensor flags_like(const std::vector<uint8_t>& flags, const at::Tensor& like) {
  return at::tensor(at::ArrayRef<uint8_t>(flags), at::kByte).to(like.device(), at::kBool);
}

at::Tensor centred(const at::Tensor& scores, const Integers& ends, const std::string& baseline,
                   const MaybeIntegers& lengths, const MaybeTensor& greedy, const MaybeTensor& logprobs,
                   const MaybeIntegers& fork_of, const MaybeIntegers& fork_segments, double temperature) {
  const Numbers plain = numbers_of(scores, "scores");
  check_ends(ends, std::ssize(plain));
  if (lengths) check_count(*lengths, plain.size(), "lengths");
  const Numbers greedy_scores = numbers_or_none(greedy, "greedy_scores", ends.values.size());
  const Numbers mean_logprobs = numbers_or_none(logprobs, "mean_logprobs", plain.size());
  ScoredGroups groups{.scores = plain, .ends = ends.values};
  if (lengths) groups.lengths = lengths->values;
  groups.greedy_scores = greedy_scores;
  groups.mean_logprobs = mean_logprobs;
  const std::vector<Fork> forks = forks_of(fork_of, fork_segments, ends.values);
  if (forks.empty() && find_baseline(baseline).reads_forks)
    throw UserError("baseline subtrees compares the completions of a tree: give fork_of and fork_segments");
  groups.forks = forks;
  groups.keys.pairwise.temperature = temperature;
  return tensor_like(centred_scores(groups, baseline), scores);
}

at::Tensor scaled(const at::Tensor& centred, const at::Tensor& scores, const Integers& ends,
                  const std::string& kind, int64_t ddof, double epsilon) {
  check_alike({&centred, &scores});
  const Numbers plain = numbers_of(scores, "scores"), values = numbers_of(centred, "centred");
  check_ends(ends, std::ssize(plain));
  const ScoredGroups groups{.scores = plain, .ends = ends.values};
  return tensor_like(scaled_scores(values, groups, {.kind = kind, .ddof = ddof, .epsilon = epsilon}),
                     centred);
}

void add_scales(py::module_& m) {
  add(m, "centred_scores", &centred, arg("scores"), arg("group_ends"), arg("baseline"), kw_only(),
      arg("lengths") = py::none(), arg("greedy_scores") = py::none(), arg("mean_logprobs") = py::none(),
      arg("fork_of") = py::none(), arg("fork_segments") = py::none(), arg("pairwise_temperature") = 1.0);
  add(m, "scaled_scores", &scaled, arg("centred"), arg("scores"), arg("group_ends"), kw_only(),
      arg("kind") = "group", arg("ddof") = 1, arg("epsilon") = 1e-4);
  const auto weights = [](const at::Tensor& means, int64_t ddof) {
    return tensor_like(beta_density_weights(numbers_of(means, "group_means"), ddof), means);
  };
  add(m, "beta_density_weights", weights, arg("group_means"), kw_only(), arg("ddof") = 1);
  const auto white = [](const at::Tensor& advantages, const MaybeIntegers& counts, int64_t ddof,
                        double epsilon) {
    const Numbers plain = numbers_of(advantages, "advantages");
    if (counts) check_count(*counts, plain.size(), "counts");
    return tensor_like(whitened(plain, counts ? counts->values : std::vector<int64_t>{}, ddof, epsilon),
                       advantages);
  };
  add(m, "whitened", white, arg("advantages"), kw_only(), arg("counts") = py::none(), arg("ddof") = 1,
      arg("epsilon") = 1e-4);
  const auto scores = [](const at::Tensor& values, int64_t ddof, double epsilon) {
    return tensor_like(standard_scores(numbers_of(values, "values"), ddof, epsilon), values);
  };
  add(m, "standard_scores", scores, arg("values"), kw_only(), arg("ddof") = 1, arg("epsilon") = 1e-4);
  const auto median = [](const at::Tensor& values) { return median_of(numbers_of(values, "values")); };
  add(m, "median_of", median, arg("values"));
  const auto deviation = [](const at::Tensor& values) {
    return median_absolute_deviation(numbers_of(values, "values"));
  };
  add(m, "median_absolute_deviation", deviation, arg("values"));
}

void add_filters(py::module_& m) {
  const arg scores("scores"), ends("group_ends");
  const auto best = [](const at::Tensor& scores, const Integers& ends, const Integers& lengths,
                       const Integers& k, const std::string& metric) {
    const Numbers plain = numbers_of(scores, "scores");
    check_ends(ends, std::ssize(plain));
    check_count(lengths, plain.size(), "lengths");
    check_count(k, ends.values.size(), "k");
    return flags_like(best_of_groups(plain, ends.values, lengths.values, k.values, metric), scores);
  };
  add(m, "best_of_groups", best, scores, ends, arg("lengths"), arg("k"), kw_only(), arg("metric") = "length");
  const auto pivots = [](const at::Tensor& scores, const Integers& ends) {
    const Numbers plain = numbers_of(scores, "scores");
    check_ends(ends, std::ssize(plain));
    return flags_like(without_pivots(plain, ends.values), scores);
  };
  add(m, "without_pivots", pivots, scores, ends);
  const auto adaptive = [](double mean_reward, const at::Tensor& seen_means) {
    return adaptive_group_k(mean_reward, numbers_of(seen_means, "seen_means"));
  };
  add(m, "adaptive_group_k", adaptive, arg("mean_reward"), arg("seen_means"));
}

/// The steps of one completion; ends are tokens from 0 on.
std::vector<StepScore> steps_of(const at::Tensor& scores, const Integers& ends) {
  const Numbers plain = numbers_of(scores, "scores");
  check_count(ends, plain.size(), "ends");
  std::vector<StepScore> steps;
  for (size_t i = 0; i < plain.size(); ++i) steps.push_back({plain[i], ends.values[i]});
  return steps;
}

void check_length(int64_t length) {
  if (length < 0) throw UserError(str("length is ", length, ", but must be at least 0"));
}

/// float64 [size] as the tensor `like` has its numbers.
at::Tensor row_like(const Numbers& numbers, const at::Tensor& like) {
  return tensor_like(numbers, at::empty({std::ssize(numbers)}, like.options()));
}

void add_credit(py::module_& m) {
  const arg gamma("gamma"), length("length");
  const auto suffix = [](const at::Tensor& scores, const Integers& ends, int64_t length, double gamma) {
    check_length(length);
    return row_like(suffix_credit(steps_of(scores, ends), length, gamma), scores);
  };
  add(m, "suffix_credit", suffix, arg("scores"), arg("ends"), length, kw_only(), arg("gamma") = 1.0);
  const auto segment = [](const at::Tensor& scores, const Integers& ends, int64_t length) {
    check_length(length);
    return row_like(segment_credit(steps_of(scores, ends), length), scores);
  };
  add(m, "segment_credit", segment, arg("scores"), arg("ends"), length);
  const auto returns = [](double score, const at::Tensor& penalties, double gamma) {
    return tensor_like(
        discounted_returns(score, numbers_of(penalties, "penalties"), penalties.numel(), gamma), penalties);
  };
  add(m, "discounted_returns", returns, arg("score"), arg("penalties"), kw_only(), arg("gamma") = 1.0);
  const auto gae = [](const at::Tensor& rewards, const at::Tensor& values, double gamma, double lambda) {
    check_alike({&rewards, &values});
    const Numbers plain = numbers_of(rewards, "rewards"), states = numbers_of(values, "values");
    return tensor_like(generalised_advantages(plain, states, gamma, lambda), rewards);
  };
  add(m, "generalised_advantages", gae, arg("rewards"), arg("values"), kw_only(), arg("gamma") = 1.0,
      arg("gae_lambda") = 1.0);
  const auto adaptive = [](double alpha, int64_t length) {
    check_length(length);
    return length_adaptive_lambda(alpha, length);
  };
  add(m, "length_adaptive_lambda", adaptive, arg("alpha"), length);
  const auto states = [](const at::Tensor& rewards, const Integers& completions, const Integers& states,
                         const Integers& ends, double gamma, double lambda) {
    const Numbers plain = numbers_of(rewards, "rewards");
    check_ends(ends, std::ssize(plain));
    const StateSteps steps{plain, completions.values, states.values, ends.values};
    return tensor_like(state_group_advantages(steps, gamma, lambda), rewards);
  };
  add(m, "state_group_advantages", states, arg("rewards"), arg("completions"), arg("states"),
      arg("group_ends"), kw_only(), gamma, arg("gae_lambda"));
  const auto anchors = [](const at::Tensor& rewards, const Integers& completions, const Integers& states,
                          const Integers& ends, double gamma, const std::string& baseline,
                          const std::string& kind, int64_t ddof, double epsilon) {
    const Numbers plain = numbers_of(rewards, "rewards");
    check_ends(ends, std::ssize(plain));
    const StateSteps steps{plain, completions.values, states.values, ends.values};
    return tensor_like(
        anchor_state_advantages(steps, gamma, baseline, {.kind = kind, .ddof = ddof, .epsilon = epsilon}),
        rewards);
  };
  add(m, "anchor_state_advantages", anchors, arg("rewards"), arg("completions"), arg("states"),
      arg("group_ends"), kw_only(), arg("gamma") = 0.95, arg("baseline") = "group_mean",
      arg("kind") = "group", arg("ddof") = 1, arg("epsilon") = 1e-4);
}

using TokenRule = Numbers (*)(const TokenGroups&, const EntropyShaping&);

/// The numbers of token groups, kept while they are looked at.
struct OwnedTokenGroups {
  Numbers scores, entropies;
  const Integers &ends, &lengths;

  OwnedTokenGroups(const at::Tensor& all_scores, const Integers& group_ends, const Integers& all_lengths,
                   const at::Tensor& all_entropies)
      : scores(numbers_of(all_scores, "scores")),
        entropies(numbers_of(all_entropies, "entropies")),
        ends(group_ends),
        lengths(all_lengths) {
    check_ends(ends, std::ssize(scores));
    check_count(lengths, scores.size(), "lengths");
  }
  TokenGroups view() const { return {scores, ends.values, lengths.values, entropies}; }
};

void add_shaped(py::module_& m, const char* name, TokenRule rule, bool is_per_token) {
  const auto shaped = [rule, is_per_token](const at::Tensor& scores, const Integers& ends,
                                           const Integers& lengths, const at::Tensor& entropies,
                                           double outcome_weight, double share_weight,
                                           const std::string& statistics, int64_t ddof, double epsilon) {
    const OwnedTokenGroups groups(scores, ends, lengths, entropies);
    const Numbers result = rule(groups.view(), {outcome_weight, share_weight, statistics, ddof, epsilon});
    return tensor_like(result, is_per_token ? entropies : scores);
  };
  add(m, name, shaped, arg("scores"), arg("group_ends"), arg("lengths"), arg("entropies"), kw_only(),
      arg("outcome_weight") = 1.0, arg("share_weight") = 0.1, arg("statistics") = "shares", arg("ddof") = 1,
      arg("epsilon") = 1e-4);
}

void add_entropy_credit(py::module_& m) {
  add_shaped(m, "gtpo_rewards", &gtpo_rewards, true);
  add_shaped(m, "gtpo_advantages", &gtpo_advantages, true);
  add_shaped(m, "grpo_s_rewards", &grpo_s_rewards, false);
  add_shaped(m, "grpo_s_advantages", &grpo_s_advantages, false);
  const auto edge = [](const at::Tensor& advantages, const at::Tensor& scores, const Integers& ends,
                       const Integers& lengths, const at::Tensor& entropies) {
    check_alike({&advantages, &scores});
    const OwnedTokenGroups groups(scores, ends, lengths, entropies);
    return tensor_like(edge_advantages(numbers_of(advantages, "advantages"), groups.view()), advantages);
  };
  add(m, "edge_advantages", edge, arg("advantages"), arg("scores"), arg("group_ends"), arg("lengths"),
      arg("entropies"));
}

void add_controllers(py::module_& m) {
  add(m, "adapted_beta", &adapted_beta, arg("beta"), arg("kl"), kw_only(), arg("target"),
      arg("num_completions"), arg("horizon"));
  const auto controlled = [&](const char* name, double (*rule)(double, double, const EntropyControl&)) {
    const auto call = [rule](double coefficient, double entropy, double target, double step, double smallest,
                             double largest) {
      return rule(coefficient, entropy, {target, step, smallest, largest});
    };
    add(m, name, call, arg("coefficient"), arg("entropy"), kw_only(), arg("target") = 0.2,
        arg("step") = 0.005, arg("smallest") = 0.0, arg("largest") = 1.0);
  };
  controlled("adapted_entropy_coef", &adapted_entropy_coef);
  controlled("applied_entropy_coef", &applied_entropy_coef);
}

}  // namespace

void add_advantage_pieces(py::module_& module) {
  add_scales(module);
  add_filters(module);
  add_credit(module);
  add_entropy_credit(module);
  add_controllers(module);
}

}  // namespace cohort::python
