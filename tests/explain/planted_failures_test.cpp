// Each rule finds the failure that it is named after, in a run that is healthy otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cohort/explain/run_finding.h"
#include "tests/explain/healthy_runs.h"

namespace cohort {
namespace {

using Plant = std::function<void(RunBuilder& run)>;

struct Planted {
  const char* rule;
  const char* word;  ///< that the finding's text or advice must have
  Plant plant;
};

/// Sets a metric of all steps.
Plant all(const std::string& metric, CurveShape shape) {
  return [=](RunBuilder& run) { run.metrics[metric] = shape; };
}

void flat_reward(RunBuilder& run, double value, double deviation) {
  run.metrics["reward"] = run.metrics["rewards/accuracy/mean"] =
      noisy(constant(value), deviation, 77, 0.0, 1.0);
  run.metrics.erase("eval_reward");
}

void add_reward(RunBuilder& run, const std::string& name, double mean, double spread, double correlation) {
  run.rewards.push_back({{"name", '"' + name + '"'}, {"type", "\"python\""}, {"weight", "1.0"}});
  run.metrics["rewards/" + name + "/mean"] = noisy(constant(mean), 0.1 * spread, 5);
  run.metrics["rewards/" + name + "/std"] = constant(spread);
  run.metrics["rewards/" + name + "/weight"] = constant(1.0);
  run.metrics["rewards/" + name + "/correlation"] = noisy(constant(correlation), 0.02, 6);
}

void add_failures(RunBuilder& run, const std::string& status, double count) {
  run.metrics["rewards/accuracy/" + status] = noisy(constant(count), 1.0, 3, 0.0);
  Json cell{{"score", nullptr}, {"status", status}, {"detail", "KeyError: 'answer'"}};
  run.add_completion(run.num_steps, 99, 0, "x",
                     {{"rewards", {{"accuracy", std::move(cell)}}}, {"reward", nullptr}});
}

std::vector<Planted> reward_failures() {
  return {
      {"all_rewards_equal", "cohort verify",
       [](RunBuilder& run) {
         run.metrics["frac_reward_zero_std"] = constant(1.0);
         flat_reward(run, 0.5, 0.0);
       }},
      {"tasks_too_hard", "num_generations",
       [](RunBuilder& run) {
         run.metrics["frac_reward_zero_std"] = noisy(constant(0.95), 0.03, 1, 0.0, 1.0);
         flat_reward(run, 0.01, 0.005);
       }},
      {"tasks_too_easy", "harder",
       [](RunBuilder& run) {
         run.metrics["frac_reward_zero_std"] = noisy(constant(0.95), 0.03, 1, 0.0, 1.0);
         flat_reward(run, 0.98, 0.005);
       }},
      {"no_progress", "optimizer.learning_rate (now 1e-05)",
       [](RunBuilder& run) { flat_reward(run, 0.3, 0.02); }},
      {"reward_fell", "reward fell",
       [](RunBuilder& run) {
         run.metrics["reward"] = noisy(
             [n = run.num_steps](int64_t s) { return s < n / 2 ? 0.1 + 0.8 * s / n : 0.05; }, 0.02, 9, 0.0);
       }},
      {"constant_reward", "accuracy is 0.5",
       [](RunBuilder& run) {
         run.metrics["rewards/accuracy/mean"] = constant(0.5);
         run.metrics["rewards/accuracy/std"] = constant(0.0);
       }},
      {"reward_without_weight_effect", "the reward style",
       [](RunBuilder& run) { add_reward(run, "style", 0.5, 0.001, 0.02); }},
      {"failing_reward", "KeyError", [](RunBuilder& run) { add_failures(run, "error", 20.0); }},
      {"reward_timeouts", "timeout_s", [](RunBuilder& run) { add_failures(run, "timeout", 20.0); }},
      {"sandbox_failures", "sandbox", [](RunBuilder& run) { add_failures(run, "sandbox_error", 20.0); }},
      {"unparsed_rows", "columns", [](RunBuilder& run) { add_failures(run, "unparsed", 20.0); }},
      {"checker_gap", "hidden",
       [](RunBuilder& run) {
         run.rewards.push_back({{"name", "\"hidden\""},
                                {"type", "\"numeric\""},
                                {"checks", "\"accuracy\""},
                                {"weight", "0.0"}});
         run.metrics["rewards/hidden/gap"] = noisy(line(0.02, 0.5, run.num_steps), 0.03, 8);
       }},
      {"monitor_alarm", "first at step 41",
       [](RunBuilder& run) {
         run.metrics["monitor/clipped"] = line(0.0, 1.0, run.num_steps);
         run.metrics["monitor/clipped/alarm"] = jump(0.0, 1.0, 40);
       }},
      {"rewards_diverge", "held-out reward fell",
       [](RunBuilder& run) {
         run.metrics["eval_reward"] = [n = run.num_steps](int64_t s) {
           return (s + 1) % 5 == 0 ? noisy(line(0.5, 0.1, n), 0.01, 4)(s) : INFINITY;
         };
       }},
  };
}

std::vector<Planted> completion_failures() {
  return {
      {"cut_at_limit", "rollout.max_completion_length (now 512)",
       all("completions/clipped_ratio", noisy(constant(0.6), 0.05, 1))},
      {"no_stop_token", "eos_token_id", all("completions/clipped_ratio", constant(1.0))},
      {"doubled_bos", "token 1 twice",
       [](RunBuilder& run) {
         for (Json& completion : run.completions) completion["prompt_ids"] = {1, 1, 9, completion["sample"]};
       }},
      {"length_explosion", "soft_overlong",
       [](RunBuilder& run) {
         run.metrics["completions/mean_length"] = noisy(line(100.0, 450.0, run.num_steps), 10.0, 3);
         flat_reward(run, 0.3, 0.03);
       }},
      {"length_collapse", "rollout.min_tokens (now 0)",
       [](RunBuilder& run) {
         run.metrics["completions/mean_length"] = noisy(line(120.0, 2.0, run.num_steps), 0.5, 3, 1.0);
         flat_reward(run, 0.3, 0.03);
       }},
      {"same_text", "I cannot",
       [](RunBuilder& run) {
         for (Json& completion : run.completions) completion["completion"] = "I cannot";
         flat_reward(run, 0.3, 0.03);
       }},
      {"entropy_collapse", "objective.beta (now 0.04)",
       all("entropy", [](int64_t step) { return 0.001 + 0.6 * std::exp(-0.2 * step); })},
      {"entropy_explosion", "noise",
       [](RunBuilder& run) {
         run.metrics["entropy"] = noisy(line(0.5, 4.0, run.num_steps), 0.05, 3);
         flat_reward(run, 0.2, 0.03);
       }},
  };
}

std::vector<Planted> update_failures() {
  return {
      {"kl_runaway", "objective.beta (now 0.04)",
       all("kl", [](int64_t step) { return 0.001 * std::exp(0.1 * step); })},
      {"gradient_growth", "optimizer.max_grad_norm (now 1.0)",
       all("grad_norm", [](int64_t step) { return 0.2 * std::exp(0.05 * step); })},
      {"gradient_vanished", "mask_truncated_completions", all("grad_norm", constant(0.0))},
      {"nonfinite_updates", "first at step 51",
       all("skipped_steps", [](int64_t step) { return step < 50 ? 0.0 : 1.0 + (step - 50) / 5; })},
      {"learning_rate_too_high", "to a tenth",
       [](RunBuilder& run) {
         run.metrics["reward"] = jump(0.2, 0.0, 6);
         run.metrics["entropy"] = jump(0.6, 0.01, 6);
         run.metrics["grad_norm"] = [](int64_t step) { return step == 5 ? 40.0 : 0.4; };
         run.metrics["frac_reward_zero_std"] = jump(0.3, 1.0, 6);
       }},
      {"learning_rate_too_low", "tenfold",
       [](RunBuilder& run) {
         flat_reward(run, 0.3, 0.04);
         run.metrics["entropy"] = noisy(constant(0.6), 0.03, 2);
         run.metrics["kl"] = constant(0.0);
         run.metrics["learning_rate"] = constant(1e-9);
       }},
      {"clip_too_often", "num_iterations", all("clip_ratio/region_mean", noisy(constant(0.45), 0.05, 2))},
      {"inexact_sampler", "not exact",
       all("sampling/sampling_logp_difference/max", noisy(constant(0.02), 0.004, 2))},
      {"value_function_useless", "critic.lr",
       [](RunBuilder& run) {
         run.set("objective.baseline", "\"critic\"");
         run.set("critic.lr", "1e-5");
         run.metrics["critic/vf_explained_var"] = noisy(constant(-0.3), 0.1, 2);
       }},
  };
}

std::vector<Planted> work_failures() {
  return {
      {"tools_unused", "tool_calls",
       [](RunBuilder& run) {
         run.set("environment.tool_call_format", "\"hermes\"");
         run.metrics["tools/call_frequency"] = [](int64_t step) { return step < 20 ? 1.2 : 0.0; };
         flat_reward(run, 0.3, 0.03);
       }},
      {"tools_unused", "no completion of steps 1 to 100 calls a tool",
       [](RunBuilder& run) {
         run.tools.push_back({{"type", "\"calculator\""}});
         run.metrics["tools/call_frequency"] = constant(0.0);
       }},
      {"tool_failures", "messages",
       [](RunBuilder& run) {
         run.metrics["tools/call_frequency"] = constant(2.0);
         run.metrics["tools/failure_frequency"] = noisy(constant(0.8), 0.05, 2);
       }},
      {"environment_failures", "died",
       [](RunBuilder& run) {
         run.metrics["episodes/failed"] = noisy(constant(10.0), 1.0, 2);
         run.add_completion(run.num_steps, 98, 0, "x",
                            {{"environment_failure", "its process died"}, {"masked", true}});
       }},
      {"rewards_are_bottleneck", "judge",
       [](RunBuilder& run) {
         run.timings["timing_s/reward"] = noisy(constant(2.5), 0.1, 2);
         run.timings["timing_s/reward/judge/p90"] = constant(2.4);
       }},
      {"tools_idle", "environment.workers",
       [](RunBuilder& run) { run.timings["timing_s/idle_for_tools"] = noisy(constant(3.0), 0.1, 2); }},
      {"memory_grows", "GiB",
       [](RunBuilder& run) { run.timings["perf/max_memory_allocated_gb"] = line(1.0, 4.0, run.num_steps); }},
      {"slow_steps", "timing_s/*",
       [](RunBuilder& run) { run.timings["step_time"] = noisy(line(2.0, 9.0, run.num_steps), 0.1, 2); }},
  };
}

std::vector<Planted> policy_failures() {
  std::vector<Planted> failures = reward_failures();
  for (const auto& more : {completion_failures(), update_failures(), work_failures()})
    failures.insert(failures.end(), more.begin(), more.end());
  return failures;
}

/// A run of `cohort sft` with a held-out loss.
void make_supervised(RunBuilder& run) {
  run.set("optimizer.learning_rate", "1e-4");
  run.set("train.sequences_per_step", "8");
  const int64_t steps = run.num_steps;
  const auto falls = [](int64_t step) { return 0.5 + 2.0 * std::exp(-0.05 * static_cast<double>(step)); };
  run.metrics["loss"] = noisy(falls, 0.05, 1);
  run.metrics["entropy"] = noisy(falls, 0.05, 2);
  run.metrics["grad_norm"] = noisy(constant(1.0), 0.2, 3);
  run.metrics["learning_rate"] = line(1e-4, 0.0, steps);
  run.metrics["eval_loss"] = [=](int64_t step) {
    return (step + 1) % 10 == 0 ? falls(step) + 0.05 : INFINITY;
  };
}

const RunFinding* find(const std::vector<RunFinding>& findings, const std::string& rule) {
  const auto found = std::ranges::find(findings, rule, &RunFinding::rule);
  return found == findings.end() ? nullptr : &*found;
}

std::string text_of(const std::vector<RunFinding>& findings) {
  std::string text;
  for (const RunFinding& finding : findings)
    text += finding.rule + ": " + finding.text + "; " + finding.advice + "\n";
  return text;
}

TEST(PlantedFailures, OneCauseIsSaidOnce) {
  RunBuilder run(100);
  make_healthy(run, HealthyShape::kLine, 11);
  run.metrics["rewards/accuracy/mean"] = constant(0.0);
  run.metrics["rewards/accuracy/std"] = constant(0.0);
  run.metrics["frac_reward_zero_std"] = constant(1.0);
  flat_reward(run, 0.0, 0.0);
  const std::vector<RunFinding> findings = find_problems(run.write());
  EXPECT_NE(find(findings, "constant_reward"), nullptr);
  EXPECT_EQ(find(findings, "tasks_too_hard"), nullptr) << text_of(findings);
}

TEST(PlantedFailures, APromptThatBeginsWithTheSamePieceTwiceIsNone) {
  RunBuilder run(100);
  make_healthy(run, HealthyShape::kLine, 11);
  for (Json& completion : run.completions) {
    completion["prompt_ids"] = {1, 1, 9, completion["sample"]};
    completion["prompt"] = "**Question**: " + completion["prompt"].get<std::string>();
  }
  EXPECT_EQ(find(find_problems(run.write()), "doubled_bos"), nullptr);
}

TEST(PlantedFailures, EvidenceNamesTheStepsOfItsMean) {
  EXPECT_EQ(evidence_text("kl", "0.5", {"kl", 12, 0.5}), "kl = 0.5 at step 12");
  EXPECT_EQ(evidence_text("kl", "0.5", {"kl", 12, 0.5, 3}), "kl = 0.5, the mean of steps 3 to 12");
  RunBuilder run(100);
  make_healthy(run, HealthyShape::kLine, 11);
  run.metrics["kl"] = [](int64_t step) { return 3.0 - 0.015 * static_cast<double>(step); };  // it falls
  const std::vector<RunFinding> findings = find_problems(run.write());
  const RunFinding* found = find(findings, "kl_runaway");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->text.find("grew"), std::string::npos) << found->text;
  EXPECT_EQ(found->metrics.at(0).first_step, 1);
  EXPECT_EQ(found->metrics.at(0).step, 10);
}

TEST(PlantedFailures, AreFoundByName) {
  for (const Planted& planted : policy_failures()) {
    RunBuilder run(100);
    make_healthy(run, HealthyShape::kLine, 11);
    planted.plant(run);
    const std::vector<RunFinding> findings = find_problems(run.write());
    const RunFinding* found = find(findings, planted.rule);
    EXPECT_NE(found, nullptr) << planted.rule << " is not in:\n" << text_of(findings);
    if (found == nullptr) continue;
    EXPECT_NE((found->text + found->advice).find(planted.word), std::string::npos) << text_of({*found});
    EXPECT_NE(found->level, FindingLevel::kNote) << planted.rule;
    EXPECT_EQ((found->text + found->advice).find('\n'), std::string::npos);
    EXPECT_FALSE(found->metrics.empty() && found->samples.empty()) << planted.rule << " has no evidence";
  }
}

TEST(PlantedFailures, AreThereForEveryRule) {
  std::set<std::string> planted{"overfitting"};
  for (const Planted& failure : policy_failures()) planted.insert(failure.rule);
#define RULE(name, looks_for) EXPECT_EQ(planted.erase(#name), 1U) << #name " has no test";
#include "cohort/explain/rules.def"
#undef RULE
  EXPECT_EQ(planted, std::set<std::string>{});
}

TEST(PlantedFailures, OfSupervisedRunsAreFound) {
  RunBuilder overfitted(100);
  make_supervised(overfitted);
  overfitted.metrics["eval_loss"] = [](int64_t step) {
    return (step + 1) % 10 == 0 ? 1.0 + std::abs(step - 40) / 50.0 : INFINITY;
  };
  EXPECT_NE(find(find_problems(overfitted.write()), "overfitting"), nullptr);

  RunBuilder jumping(100);
  make_supervised(jumping);
  jumping.metrics["loss"] = jump(0.8, 6.0, 30);
  EXPECT_NE(find(find_problems(jumping.write()), "learning_rate_too_high"), nullptr);

  RunBuilder still(100);
  make_supervised(still);
  still.metrics["loss"] = noisy(constant(2.5), 0.05, 1);
  still.metrics["learning_rate"] = constant(1e-9);
  EXPECT_NE(find(find_problems(still.write()), "learning_rate_too_low"), nullptr);
}

TEST(PlantedFailures, OfOnePolicyNameIt) {
  RunBuilder run(40);
  run.set("attacker.rollout.num_generations", "8");
  run.set("attacker.rollout.max_completion_length", "16");
  run.set("defender.rollout.max_completion_length", "96");
  run.set("attacker.objective.beta", "0.5");
  run.metrics["attacker/kl"] = line(0.0, 9.0, 40);
  run.metrics["defender/completions/clipped_ratio"] = constant(0.8);
  const std::vector<RunFinding> findings = find_problems(run.write());
  ASSERT_EQ(findings.size(), 2U) << text_of(findings);
  const RunFinding* kl = find(findings, "kl_runaway");
  ASSERT_NE(kl, nullptr);
  EXPECT_TRUE(kl->text.starts_with("attacker: ")) << kl->text;
  EXPECT_NE(kl->advice.find("attacker.objective.beta (now 0.5)"), std::string::npos) << kl->advice;
  EXPECT_EQ(kl->metrics.front().metric, "attacker/kl");
  EXPECT_TRUE(find(findings, "cut_at_limit")->text.starts_with("defender: "));
}

TEST(PlantedFailures, AreSortedAndWrittenAsJson) {
  RunBuilder run(100);
  make_healthy(run, HealthyShape::kLine, 11);
  run.metrics["rewards/accuracy/error"] = [](int64_t step) {
    return step == 3 ? 1.0 : 0.0;
  };  // one of 12,800: a note
  run.metrics["completions/clipped_ratio"] = noisy(constant(0.35), 0.02, 1);  // a warning
  run.metrics["grad_norm"] = constant(0.0);                                   // a problem
  const std::vector<RunFinding> findings = find_problems(run.write());
  ASSERT_EQ(findings.size(), 3U) << text_of(findings);
  EXPECT_EQ(findings[0].rule, "gradient_vanished");
  EXPECT_EQ(findings[1].rule, "cut_at_limit");
  EXPECT_EQ(findings[2].rule, "failing_reward");
  const Json json = to_json(findings[1]);
  EXPECT_EQ(json["rule"], "cut_at_limit");
  EXPECT_EQ(json["level"], "warning");
  EXPECT_EQ(json["metrics"][0]["metric"], "completions/clipped_ratio");
  EXPECT_EQ(json["metrics"][0]["step"], 100);
  EXPECT_NEAR(json["metrics"][0]["value"].get<double>(), 0.35, 0.02);
}

TEST(PlantedFailures, AWholeRunIsNeeded) {
  TemporaryDirectory empty;
  EXPECT_THROW(find_problems(empty.path()), std::exception);
  RunBuilder damaged(20);
  make_healthy(damaged, HealthyShape::kLine, 1);
  const std::filesystem::path path = damaged.write();
  write_text(path / "config.toml", "[rollout\n");
  EXPECT_THROW(find_problems(path), std::exception);
}

}  // namespace
}  // namespace cohort
