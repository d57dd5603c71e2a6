#include "apps/cli/replayed_group.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/train/grpo/replay.h"

namespace cohort::cli {
namespace {

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

int64_t group_of(const Batch& batch, const std::string& prompt_id) {
  const auto found =
      std::ranges::find_if(batch.groups, [&](const Group& group) { return group.prompt.id == prompt_id; });
  if (found == batch.groups.end())
    throw ConfigError(str("the batch of step ", batch.step, " has no prompt ", prompt_id));
  return found - batch.groups.begin();
}

/// The samples under the weights before the step.
Json samples_before(Replay& replay, int64_t group) {
  Json samples = Json::array();
  const std::vector<const Sample*> sequences = sequences_of(replay.batch().groups[group]);
  for (int64_t i = 0, branch = 0; i < std::ssize(sequences); ++i) {
    const int64_t sample = sequences[i]->completion.sample;
    branch = i > 0 && sequences[i - 1]->completion.sample == sample ? branch + 1 : 0;
    const std::optional<SampleGradient> gradient = replay.sample_gradient(group, i);
    Json tokens = Json::array();
    for (const ReplayedToken& token : replay.tokens(group, i)) {
      Json row{{"place", token.place}, {"entropy", number_or_null(token.entropy)}};
      if (gradient) row["gradient"] = number_or_null(gradient->tokens[tokens.size()]);
      tokens.push_back(std::move(row));
    }
    samples.push_back({{"sample", sample},
                       {"branch", branch},
                       {"gradient_share", gradient ? number_or_null(gradient->whole.share) : Json(nullptr)},
                       {"tokens", std::move(tokens)}});
  }
  return samples;
}

void add_ratios(Replay& replay, int64_t group, Json& samples) {
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::vector<ReplayedToken> tokens = replay.tokens(group, static_cast<int64_t>(i));
    for (size_t t = 0; t < tokens.size(); ++t) {
      samples[i]["tokens"][t]["ratio"] = number_or_null(tokens[t].ratio);
      samples[i]["tokens"][t]["clipped"] = tokens[t].is_clipped;
    }
  }
}

}  // namespace

Json replayed_group(const std::filesystem::path& run, int64_t step, const std::string& prompt_id) {
  Json samples;
  {
    Replay before(run, step);
    samples = samples_before(before, group_of(before.batch(), prompt_id));
  }
  Json ratio_problem;
  try {
    Replay after(run, step, ReplayWeights::kAfter);
    add_ratios(after, group_of(after.batch(), prompt_id), samples);
  } catch (const UserError& error) {  // such as a checkpoint that was not kept
    ratio_problem = error.what();
  }
  return {{"samples", std::move(samples)}, {"ratio_problem", std::move(ratio_problem)}};
}

}  // namespace cohort::cli
