// cohort influence: which prompts a run's updates came from.
#include <cstdio>
#include <iostream>

#include "apps/cli/command.h"
#include "cohort/core/json.h"
#include "cohort/train/run/influence.h"

namespace cohort::cli {
namespace {

struct InfluenceConfig {
  std::string metric;
  int64_t top = 20;
  bool json = false;

  void describe(FieldVisitor& f) {
    f("metric", metric,
      "An evaluation's metric, such as eval_reward: also tells which prompts go with its changes.");
    f("top", top, "Number of prompts, those with the largest shares; 0: all.", at_least(0));
    f("json", json, "Print JSON lines instead of text.");
  }
};

Json row_of(const PromptInfluence& prompt) {
  return {{"prompt_id", prompt.prompt_id},
          {"steps", prompt.num_steps},
          {"completions", prompt.num_completions},
          {"reward", prompt.num_completions > 0 ? Json(prompt.mean_reward) : Json(nullptr)},
          {"share", prompt.share},
          {"score", prompt.score ? Json(*prompt.score) : Json(nullptr)},
          {"telling", prompt.is_telling}};
}

void print(const PromptInfluence& prompt, int64_t num_prompts) {
  char score[32] = "-";
  if (prompt.score)
    std::snprintf(score, sizeof score, "%+.1f%s", *prompt.score, prompt.is_telling ? "*" : "");
  std::printf("%7.2f%% %7.1f %7lld %12lld %8.3f %8s  %s\n", 100 * prompt.share,
              prompt.share * static_cast<double>(num_prompts), static_cast<long long>(prompt.num_steps),
              static_cast<long long>(prompt.num_completions), prompt.mean_reward, score,
              to_json_text(prompt.prompt_id).c_str());
}

}  // namespace

int influence_command(const Command& self, const Arguments& arguments) {
  InfluenceConfig config;
  const auto run = read_one_argument(self, arguments, config, "the directory of a run");
  if (!run) return 0;
  const std::vector<PromptInfluence> prompts = prompt_influences(*run, config.metric);
  if (!config.json)
    std::printf("%8s %7s %7s %12s %8s %8s  %s\n", "share", "times", "steps", "completions", "reward", "score",
                "prompt");
  for (size_t i = 0; i < prompts.size(); ++i) {
    const bool is_shown = config.top == 0 || static_cast<int64_t>(i) < config.top || prompts[i].is_telling;
    if (!is_shown) continue;
    if (config.json) {
      std::cout << to_json_text(row_of(prompts[i])) << "\n";
    } else {
      print(prompts[i], std::ssize(prompts));
    }
  }
  return 0;
}

}  // namespace cohort::cli
