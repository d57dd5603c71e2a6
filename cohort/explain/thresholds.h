// What rules of `cohort explain` call too much or too little, for what judges the same figures elsewhere:
// `cohort preflight`.
#pragma once

namespace cohort::thresholds {

// Shares of the completions.
constexpr double kOftenCut = 0.25;      ///< healthy runs stay below 0.1; early ones may be above it
constexpr double kMostlyCut = 0.7;      ///< rewards judge halves for the most part
constexpr double kFewFailures = 0.01;   ///< of a reward; below this share a failure is an accident
constexpr double kManyFailures = 0.2;   ///< above this share the groups' statistics are other ones
constexpr double kMostGroups = 0.9;     ///< without difference; one success in thirty still learns at 0.8
constexpr double kFewCompletions = 64;  ///< fewer tell noise from nothing

// Learning rates that the updates of a run add up to. AdamW moves a weight by at most this.
constexpr double kTotalRate = 1e-4;            ///< weights are some 0.02
constexpr double kTotalRateOfAdapters = 1e-3;  ///< an adapter begins at 0

// What single updates move; factors, and the least that counts.
constexpr double kEntropyJump = 3.0;
constexpr double kLeastEntropyJump = 0.2;  ///< nats
constexpr double kLengthJump = 1.6;
constexpr double kLeastLengthJump = 8.0;  ///< tokens
constexpr double kClearScore = 5.0;       ///< standard errors: a run has dozens of windows to compare

}  // namespace cohort::thresholds
