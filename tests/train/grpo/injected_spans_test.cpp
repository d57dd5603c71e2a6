// Completions with injected spans: the trainer's loss and gradient against transformers and TRL under a mask
// (tools/make_golden/injected_spans.py), and what counts tokens or gives them credit.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "cohort/models/pretrained.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/evidence.h"
#include "cohort/train/grpo/step_metrics.h"
#include "cohort/train/run/batch_passes.h"
#include "cohort/train/run/optimizer.h"
#include "tests/core/test_files.h"
#include "tests/models/hashed_model.h"
#include "tests/models/tiny_decoder.h"
#include "tests/train/batches.h"

namespace cohort {
namespace {

/// A token for each letter of `origins`: s sampled, i injected. Each span of injected tokens begins a turn.
Completion completion_of(const std::vector<int32_t>& ids, const std::string& origins) {
  Completion completion;
  int32_t turn = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (origins[i] == 'i' && i > 0 && origins[i - 1] == 's') ++turn;
    completion.append(ids[i], origins[i] == 's' ? TokenOrigin::kSampled : TokenOrigin::kInjected, turn);
  }
  return completion;
}

KeptIds kept_of(const Json& ids) {
  return std::make_shared<const std::vector<int32_t>>(ids.get<std::vector<int32_t>>());
}

/// The golden file's batch as a step holds it.
Batch golden_batch(const Json& golden) {
  Batch batch;
  batch.reward_names = {"mine"};
  batch.reward_weights = {1.0};
  batch.gives_steps = {0};
  batch.groups.resize(golden["prompts"].size());
  const auto group_size = golden["group_size"].get<size_t>();
  for (size_t i = 0; i < golden["completions"].size(); ++i) {
    Group& group = batch.groups[i / group_size];
    group.prompt.token_ids = golden["prompts"][i / group_size].get<std::vector<int32_t>>();
    Sample& sample = group.samples.emplace_back();
    sample.completion = completion_of(golden["completions"][i].get<std::vector<int32_t>>(),
                                      golden["origins"][i].get<std::string>());
    for (const Json& ids : golden["kept_ids"][i]) sample.completion.kept_ids.push_back(kept_of(ids));
    sample.completion.sampler_logprobs = golden["old_logprobs"][i].get<std::vector<float>>();
    sample.ref_logprobs = golden["ref_logprobs"][i].get<std::vector<float>>();
    sample.rewards = {ok(golden["rewards"][i].get<double>())};
    check_completion(sample.completion);
  }
  add_up_rewards(batch);
  return batch;
}

/// The choices of a setting of the loss.
std::vector<std::string> choices_of(const std::string& key) {
  LossConfig config;
  for (const Field& field : settings_of(config).fields) {
    if (field.name == key) return field.limits.choices;
  }
  ADD_FAILURE() << "no " << key;
  return {};
}

class InjectedSpansTest : public testing::Test {
 protected:
  InjectedSpansTest() {
    write_hashed_model(golden_, directory_.path() / "model");
    decoder_ = load_pretrained(directory_.path() / "model", at::kFloat, at::kCPU);
    assign_credit(batch_, {});
  }

  LossConfig objective(const Json& of) const {
    const Json& settings = golden_["objective"];
    LossConfig config;
    config.aggregation = of["aggregation"].get<std::string>();
    config.aggregation_keys.token_mean.scope = of["token_mean_scope"].get<std::string>();
    config.beta = settings["beta"].get<double>();
    config.epsilon = settings["epsilon"].get<double>();
    config.epsilon_high = settings["epsilon_high"].get<double>();
    config.max_completion_length = settings["max_completion_length"].get<int64_t>();
    return config;
  }

  void expect_gradient(const Json& expected, const LossOptions& options) {
    AdamW optimizer(decoder_->parameters(), {});
    optimizer.zero_grad();
    const LossResult result =
        accumulate_policy_gradient(*decoder_, batch_.groups, objective(expected), options);
    EXPECT_NEAR(result.objective.values().at("loss"), expected["loss"].get<double>(), 1e-5);
    const double grad_norm = expected["grad_norm"].get<double>();
    EXPECT_NEAR(optimizer.grad_norm(), grad_norm, 1e-4 * grad_norm);
    const std::map<std::string, at::Tensor> gradients = gradients_by_name();
    ASSERT_EQ(gradients.size(), expected["projections"].size());
    uint64_t place = 0;
    for (const auto& [name, projection] : expected["projections"].items()) {
      EXPECT_NEAR(hashed_projection(gradients.at(name), place++), projection.get<double>(), 1e-4 * grad_norm)
          << name;
    }
    EXPECT_EQ(result.num_forwarded_tokens, kNumSampled);
    EXPECT_NEAR(result.entropy_sum / kNumSampled, golden_["mean_entropy"].get<double>(), 1e-5);
  }

  /// The parts of the leaves' gradients that belong to the named weights.
  std::map<std::string, at::Tensor> gradients_by_name() const {
    std::map<std::string, at::Tensor> gradients;
    for (const auto& [name, weight] : decoder_->named_weights()) {
      for (const at::Tensor& leaf : decoder_->parameters()) {
        const int64_t offset = weight.const_data_ptr<float>() - leaf.const_data_ptr<float>();
        if (offset < 0 || offset >= leaf.numel()) continue;
        gradients[name] = leaf.grad().flatten().narrow(0, offset, weight.numel()).view(weight.sizes());
      }
    }
    return gradients;
  }

  LossOptions options(int64_t rows, bool recompute = false) const {
    return {golden_["temperature"].get<double>(), rows, recompute};
  }

  static constexpr int64_t kNumSampled = 5 + 3 + 3 + 6 + 1;
  const ThreadCount one_thread_{1};
  const Json golden_ = read_json(COHORT_SOURCE_DIR "/tests/train/golden/injected_spans.json");
  const TemporaryDirectory directory_;
  std::unique_ptr<Decoder> decoder_;
  Batch batch_ = golden_batch(golden_);
};

TEST_F(InjectedSpansTest, PoliciesAndAdvantagesAreThoseOfTransformersAndTrl) {
  size_t i = 0;
  std::vector<Group> groups = batch_.groups;
  fill_old_logprobs(*decoder_, groups, options(20));
  for_each_sample(groups, [&](const Sample& sample) {
    const Json& expected = golden_["policy_logprobs"][i];
    ASSERT_EQ(sample.old_logprobs.size(), expected.size()) << i;
    for (size_t t = 0; t < expected.size(); ++t)
      EXPECT_NEAR(sample.old_logprobs[t], expected[t].get<double>(), 2e-5) << i << " " << t;
    EXPECT_NEAR(sample.advantage, golden_["advantages"][i].get<double>(), 1e-6) << i;
    ++i;
  });
}

// Every aggregation has its golden gradient, cut in any way. A mean over micro-batches depends on the cut.
TEST_F(InjectedSpansTest, CarryNoLossUnderAnyAggregation) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Json& expected : golden_["aggregations"]) {
    const auto aggregation = expected["aggregation"].get<std::string>();
    const auto scope = expected["token_mean_scope"].get<std::string>();
    SCOPED_TRACE(aggregation + " " + scope);
    seen.emplace(aggregation, scope);
    for (const bool recompute : {false, true}) {
      for (const int64_t rows : {1, 14, 20, 1000}) {
        if (scope == "micro_batch" && rows < 1000) continue;
        SCOPED_TRACE(str(rows, " rows, recompute ", recompute));
        expect_gradient(expected, options(rows, recompute));
      }
    }
  }
  std::set<std::pair<std::string, std::string>> all;
  for (const std::string& aggregation : choices_of("aggregation")) all.emplace(aggregation, "batch");
  for (const std::string& scope : choices_of("token_mean_scope")) all.emplace("token_mean", scope);
  EXPECT_EQ(seen, all) << "add the aggregation to tools/make_golden/injected_spans.py";
}

// What is injected moves the tokens after it, and nothing of it has a log-probability.
TEST_F(InjectedSpansTest, AreReadByTheTokensAfterThem) {
  Completion& completion = batch_.groups[0].samples[0].completion;  // sssiiss
  std::vector<Group> groups = batch_.groups;
  groups[0].samples[0].completion.token_ids[4] = 9;
  fill_old_logprobs(*decoder_, batch_.groups, options(1000));
  fill_old_logprobs(*decoder_, groups, options(1000));
  const std::vector<float>&before = batch_.groups[0].samples[0].old_logprobs,
        &after = groups[0].samples[0].old_logprobs;
  ASSERT_EQ(std::ssize(after), completion.num_sampled());
  for (size_t t = 0; t < 3; ++t) EXPECT_EQ(before[t], after[t]) << t;
  for (size_t t = 3; t < 5; ++t) EXPECT_GT(std::abs(before[t] - after[t]), 1e-3) << t;
}

// Sampled tokens of the completions: 5, 3, 3 and 6, 1, 0.
TEST_F(InjectedSpansTest, CountInNoLength) {
  batch_.groups[0].samples[1].completion.finish_reason = FinishReason::kStop;
  batch_.groups[1].samples[0].completion.finish_reason = FinishReason::kStop;
  const Metrics lengths = length_metrics(batch_.groups);
  EXPECT_EQ(find_metric(lengths, "completions/mean_length"), kNumSampled / 6.0);
  EXPECT_EQ(find_metric(lengths, "completions/max_length"), 6.0);
  EXPECT_EQ(find_metric(lengths, "completions/mean_terminated_length"), 4.5);
  EXPECT_EQ(find_metric(lengths, "completions/min_terminated_length"), 3.0);
  const auto variation = [](std::vector<double> values) {
    double mean = 0.0, squares = 0.0;
    for (const double value : values) mean += value / 3.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / 2.0) / mean;
  };
  EXPECT_NEAR(find_metric(evidence_metrics(batch_, {}), "completions/length_variation"),
              (variation({5, 3, 3}) + variation({6, 1, 0})) / 2.0, 1e-12);
}

TEST_F(InjectedSpansTest, HaveTheirPlacesInTheRowsOfCompletions) {
  const std::vector<Json> rows = completion_rows(batch_);
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0]["injected"], Json::parse("[[3, 2]]"));
  EXPECT_FALSE(rows[1].contains("injected"));
  EXPECT_EQ(rows[2]["injected"], Json::parse("[[0, 2]]"));
  EXPECT_EQ(rows[3]["injected"], Json::parse("[[1, 1], [3, 2], [8, 2]]"));
  EXPECT_EQ(rows[5]["injected"], Json::parse("[[0, 2]]"));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["completion_ids"], golden_["completions"][i]) << i;
    EXPECT_EQ(rows[i]["logprobs"].size(), golden_["policy_logprobs"][i].size()) << i;
  }
}

/// A group of completions that one function judged step by step.
Batch judged_steps(const std::vector<std::string>& origins,
                   const std::vector<std::vector<StepReward>>& steps) {
  Group group;
  for (size_t i = 0; i < origins.size(); ++i) {
    double total = 0.0;
    for (const StepReward& step : steps[i]) total += step.score;
    Sample& sample = group.samples.emplace_back(sample_of({ok(total)}));
    sample.completion = completion_of(std::vector<int32_t>(origins[i].size(), 7), origins[i]);
    sample.completion.sampler_logprobs.assign(sample.completion.num_sampled(), -1.0f);
    sample.rewards[0].steps = steps[i];
  }
  Batch batch = batch_of({group});
  batch.gives_steps = {1};
  return batch;
}

/// The advantages of a batch's tokens, centred on the mean of the group's steps alone.
std::vector<std::vector<float>> step_advantages(Batch batch, const std::string& credit) {
  AdvantageConfig config;
  config.scale_rewards = "none";
  config.credit = credit;
  assign_credit(batch, config);
  std::vector<std::vector<float>> advantages;
  for_each_sample(batch.groups, [&](const Sample& sample) { advantages.push_back(sample.token_advantages); });
  return advantages;
}

// Steps of 1, 0 and 4, 3: their mean is 2. In the first completion the first step ends within the injected
// tokens, so that its last sampled token is the second; in the second one it ends just after them.
TEST(InjectedSteps, AStepThatEndsAmongThemEndsWithTheSampledTokenBefore) {
  const Batch batch = judged_steps({"ssiiss", "siiss"}, {{{3, 1.0}, {6, 0.0}}, {{3, 4.0}, {5, 3.0}}});
  using Rows = std::vector<std::vector<float>>;
  EXPECT_EQ(step_advantages(batch, "segments"), (Rows{{-1, -1, -2, -2}, {2, 1, 1}}));
  EXPECT_EQ(step_advantages(batch, "steps"), (Rows{{-3, -3, -2, -2}, {3, 1, 1}}));
}

// A step that ends before the first sampled token judges nothing of the policy: the mean is that of 0 and 3.
TEST(InjectedSteps, AStepBeforeAllSampledTokensCountsNowhere) {
  const Batch batch = judged_steps({"iiss", "ss"}, {{{1, 6.0}, {4, 0.0}}, {{2, 3.0}}});
  using Rows = std::vector<std::vector<float>>;
  EXPECT_EQ(step_advantages(batch, "segments"), (Rows{{-1.5, -1.5}, {1.5, 1.5}}));
  EXPECT_EQ(step_advantages(batch, "steps"), (Rows{{-1.5, -1.5}, {1.5, 1.5}}));
}

}  // namespace
}  // namespace cohort
