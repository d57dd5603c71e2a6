// Which token gets what: rewards of steps, returns and generalised advantage estimation over the tokens of a
// completion. Legend: T tokens of the completion.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

/// A step's normalised reward and the last token that belongs to it; one behind the completion's end is at
/// its last token.
struct StepScore {
  double score = 0.0;
  int64_t end = 0;
};

/// [T] A_t = sum over the steps that end at t or behind it of gamma^(steps between) * score: with gamma 1 the
/// sum of arXiv:2402.03300 section 4.1.3. Steps in any order; 0 behind the last one.
std::vector<double> suffix_credit(std::vector<StepScore> steps, int64_t length, double gamma);

/// [T] A_t = the score of the step that t belongs to, which is the first that ends at t or behind it (the sum
/// of them where several end with one token); 0 behind the last one.
std::vector<double> segment_credit(std::vector<StepScore> steps, int64_t length);

/// [T] G_t = r_t + gamma * G_(t+1), where r_t = -penalties[t], plus `score` at the last token (REINFORCE++,
/// arXiv:2501.03262). `penalties` [T], or empty for none.
std::vector<double> discounted_returns(double score, std::span<const double> penalties, int64_t length,
                                       double gamma);

/// delta_t = r_t + gamma * V_(t+1) - V_t, A_t = delta_t + gamma * lambda * A_(t+1), V = A = 0 behind the last
/// token (arXiv:1506.02438 eq. 16); [T] from `rewards` [T] and `values` [T], both per token.
std::vector<double> generalised_advantages(std::span<const double> rewards, std::span<const double> values,
                                           double gamma, double lambda);

/// VAPO's lambda: max(1 - 1 / (alpha * length), 0) (arXiv:2504.05118); 0 for an empty completion.
double length_adaptive_lambda(double alpha, int64_t length);

}  // namespace cohort
