// cohort replay: what a step of a run did to its samples and tokens.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <numeric>

#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/train/grpo/replay.h"

namespace cohort::cli {
namespace {

struct ReplayConfig {
  int64_t step = 0;
  std::optional<int64_t> group, sample;
  std::string weights = "before";
  bool check = false, gradients = false, json = false;

  void describe(FieldVisitor& f) {
    f("step", step, "Step of the run, counted from 1; 0: the last one whose batch is kept.", at_least(0));
    f("group", group, "Group of the batch, counted from 0; without it every sample has one line.",
      at_least(0));
    f("sample", sample,
      "Sample of the group, counted from 0, the branches of an episode behind it; its tokens have a line "
      "each.",
      at_least(0));
    f("weights", weights,
      "Which weights play the policy: before, those that the step began with; after, those that it left, "
      "which show "
      "how far each token moved.",
      one_of({"before", "after"}));
    f("check", check,
      "Recompute the step from the checkpoint before it and compare every bit; exit code 1 if anything "
      "differs.");
    f("gradients", gradients,
      "The gradient of each group: its norm, its share of its mini-batch's, and the weights where it is "
      "largest; with `json` all weights. A backward pass for each group.");
    f("json", json, "Print JSON lines instead of text.");
  }
};

Json number(double value) { return value == value ? Json(value) : Json(nullptr); }

void print_samples(const Batch& batch, bool as_json) {
  if (!as_json) std::printf("step %lld\n", static_cast<long long>(batch.step));
  for (size_t g = 0; g < batch.groups.size(); ++g) {
    const Group& group = batch.groups[g];
    const std::vector<const Sample*> samples = sequences_of(group);
    for (size_t i = 0; i < samples.size(); ++i) {
      const Sample& sample = *samples[i];
      if (as_json) {
        std::cout << to_json_text({{"group", g},
                                   {"sample", i},
                                   {"prompt_id", group.prompt.id},
                                   {"num_tokens", sample.completion.num_sampled()},
                                   {"reward", number(sample.reward)},
                                   {"advantage", number(sample.advantage)},
                                   {"mask", to_string(sample.mask)},
                                   {"completion", sample.completion.text}})
                  << "\n";
      } else {
        std::printf("group %-4zu sample %-4zu reward %-10.4g advantage %-10.4g tokens %-6lld %s%s\n", g, i,
                    sample.reward, sample.advantage, static_cast<long long>(sample.completion.num_sampled()),
                    group.prompt.id.c_str(), sample.mask == LossMask::kNone ? "" : ", masked");
      }
    }
  }
}

Json token_row(const ReplayedToken& token, const std::string& text, std::optional<double> gradient) {
  Json row{{"place", token.place},
           {"id", token.id},
           {"text", text},
           {"sampler_logprob", number(token.sampler_logprob)},
           {"policy_logprob", number(token.policy_logprob)},
           {"ratio", number(token.ratio)},
           {"advantage", number(token.advantage)},
           {"clipped", token.is_clipped},
           {"entropy", number(token.entropy)}};
  if (token.ref_logprob) row["ref_logprob"] = number(*token.ref_logprob);
  if (gradient) row["gradient"] = number(*gradient);
  return row;
}

void print_tokens(Replay& replay, int64_t group, int64_t sample, bool as_json) {
  const std::vector<ReplayedToken> tokens = replay.tokens(group, sample);
  const std::optional<SampleGradient> gradient = replay.sample_gradient(group, sample);
  const auto gradient_of = [&](size_t t) {
    return gradient ? std::optional(gradient->tokens[t]) : std::nullopt;
  };
  if (as_json) {
    for (size_t t = 0; t < tokens.size(); ++t) {
      const std::string text = replay.tokenizer().decode({&tokens[t].id, 1});
      std::cout << to_json_text(token_row(tokens[t], text, gradient_of(t))) << "\n";
    }
    if (gradient) {
      const GradientShare& whole = gradient->whole;
      std::cout << to_json_text({{"gradient_norm", number(whole.sample_norm)},
                                 {"batch_gradient_norm", number(whole.batch_norm)},
                                 {"gradient_share", number(whole.share)}})
                << "\n";
    }
    return;
  }
  std::printf("%6s %8s %10s %10s %10s %8s %10s %8s %7s %10s  %s\n", "place", "id", "sampler", "policy",
              "reference", "ratio", "advantage", "entropy", "clipped", "gradient", "text");
  for (size_t t = 0; t < tokens.size(); ++t) {
    const ReplayedToken& token = tokens[t];
    const std::string text = to_json_text(replay.tokenizer().decode({&token.id, 1}));
    char reference[32] = "-", share[32] = "-";
    if (token.ref_logprob) std::snprintf(reference, sizeof(reference), "%.5f", *token.ref_logprob);
    if (gradient) std::snprintf(share, sizeof(share), "%.3g", gradient->tokens[t]);
    std::printf("%6lld %8d %10.5f %10.5f %10s %8.5f %10.4g %8.4f %7s %10s  %s\n",
                static_cast<long long>(token.place), token.id, token.sampler_logprob, token.policy_logprob,
                reference, token.ratio, token.advantage, token.entropy, token.is_clipped ? "yes" : "no",
                share, text.c_str());
  }
  if (!gradient) return;
  std::printf("gradient: norm %.6g of the sample alone, %.6g of its mini-batch, share %.4f\n",
              gradient->whole.sample_norm, gradient->whole.batch_norm, gradient->whole.share);
}

/// The places of the weights with the largest norms, largest first.
std::vector<size_t> largest_weights(const std::vector<WeightGradient>& weights, size_t count) {
  std::vector<size_t> places(weights.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::stable_sort(places, std::greater(), [&](size_t place) { return weights[place].norm; });
  places.resize(std::min(count, places.size()));
  return places;
}

void print_gradients(Replay& replay, bool as_json) {
  const std::vector<GroupGradient> gradients = replay.group_gradients();
  for (size_t g = 0; g < gradients.size(); ++g) {
    const auto& [whole, weights] = gradients[g];
    const std::string& prompt_id = replay.batch().groups[g].prompt.id;
    if (as_json) {
      Json parts = Json::object();
      for (const WeightGradient& weight : weights)
        parts[weight.name] = {{"norm", number(weight.norm)}, {"share", number(weight.share)}};
      std::cout << to_json_text({{"group", g},
                                 {"prompt_id", prompt_id},
                                 {"gradient_norm", number(whole.sample_norm)},
                                 {"batch_gradient_norm", number(whole.batch_norm)},
                                 {"gradient_share", number(whole.share)},
                                 {"weights", parts}})
                << "\n";
      continue;
    }
    std::printf("group %-4zu norm %-10.4g share %-8.4f %s\n", g, whole.sample_norm, whole.share,
                prompt_id.c_str());
    for (const size_t place : largest_weights(weights, 3)) {
      std::printf("      norm %-10.4g share %-8.4f %s\n", weights[place].norm, weights[place].share,
                  weights[place].name.c_str());
    }
  }
}

/// The exit code of --check.
int print_check(Replay& replay) {
  const std::vector<std::string> differences = replay.check();
  for (const std::string& difference : differences) std::cout << difference << "\n";
  if (differences.empty())
    std::cout << "step " << replay.batch().step << ": " << num_sequences(replay.batch().groups)
              << " samples recomputed, every bit the same\n";
  return differences.empty() ? 0 : 1;
}

}  // namespace

int replay_command(const Command& self, const Arguments& arguments) {
  ReplayConfig config;
  const auto run = read_one_argument(self, arguments, config, "the directory of a run");
  if (!run) return 0;
  if (config.sample && !config.group) throw ConfigError("--sample is one of a --group: give both");
  if (config.group && !config.sample) throw ConfigError("--group needs a --sample: give both");
  if (config.check && config.group)
    throw ConfigError("--check compares all samples: leave --group and --sample out");
  if (config.gradients && (config.check || config.group))
    throw ConfigError("--gradients are those of all groups: leave --check, --group and --sample out");
  const bool is_after = config.weights == "after";
  Replay replay(*run, config.step, is_after ? ReplayWeights::kAfter : ReplayWeights::kBefore);
  if (config.check) return print_check(replay);
  if (config.gradients) {
    print_gradients(replay, config.json);
  } else if (config.group) {
    print_tokens(replay, *config.group, *config.sample, config.json);
  } else {
    print_samples(replay.batch(), config.json);
  }
  return 0;
}

}  // namespace cohort::cli
