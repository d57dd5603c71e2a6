// examples/minimal_grpo.cpp against transformers and TRL (tools/make_golden/minimal_grpo.py), and on its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "cohort/core/json.h"
#include "cohort/models/pretrained.h"
#include "cohort/train/grpo/credit.h"
#include "cohort/train/grpo/policy_loss.h"
#include "cohort/train/grpo/step_metrics.h"
#include "cohort/train/run/optimizer.h"
#include "libs/common/str.h"
#include "tests/core/test_files.h"
#include "tests/models/hashed_model.h"
#include "tests/rounding.h"
#include "tests/train/tiny_grpo.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class MinimalGrpo : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    golden_ = read_json(str(COHORT_SOURCE_DIR "/tests/examples/golden/", GetParam(), ".json"));
    write_hashed_model(golden_, dir_ / "model");
  }

  /// Runs the program and returns result.json.
  Json run(const Json& job) {
    write_json(dir_ / "job.json", job);
    const std::string command =
        str("OMP_NUM_THREADS=1 ", MINIMAL_GRPO, " ", (dir_ / "model").string(), " ",
            (dir_ / "job.json").string(), " ", (dir_ / "out").string(), " > /dev/null");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return read_json(dir_ / "out/result.json");
  }

  Json golden_;
  TemporaryDirectory directory_;
  const fs::path dir_ = directory_.path();
};

void expect_close(const Json& actual, const Json& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].is_array()) {
      expect_close(actual[i], expected[i], tolerance);
    } else {
      EXPECT_NEAR(actual[i].get<double>(), expected[i].get<double>(), tolerance) << i;
    }
  }
}

TEST_P(MinimalGrpo, AgreesWithTransformersAndTrl) {
  for (const char* dtype : {"float32", "float64"}) {
    SCOPED_TRACE(dtype);
    Json job = golden_["job"];
    job["dtype"] = dtype;
    const Json result = run(job);
    expect_close(result["advantages"], golden_["advantages"], 1e-6);
    expect_close(result["policy_logprobs"], golden_["policy_logprobs"], 2e-5);
    EXPECT_NEAR(result["loss"].get<double>(), golden_["loss"].get<double>(), 1e-5);
    const double grad_norm = golden_["grad_norm"].get<double>();
    EXPECT_NEAR(result["grad_norm"].get<double>(), grad_norm, 1e-4 * grad_norm);
    const SafetensorsFile gradients(dir_ / "out/gradients.safetensors");
    ASSERT_EQ(gradients.tensors().size(), golden_["gradients"].size());
    uint64_t place = 0;
    for (const auto& [name, expected] : golden_["gradients"].items()) {
      const at::Tensor gradient = gradients.tensor(name).to(at::kDouble);
      const double projection = hashed_projection(gradient, place++);
      EXPECT_NEAR(gradient.norm().item<double>(), expected["norm"].get<double>(), 1e-4 * grad_norm) << name;
      EXPECT_NEAR(projection, expected["projection"].get<double>(), 1e-4 * grad_norm) << name;
    }
  }
}

TEST_P(MinimalGrpo, SamplesAndLearns) {
  const Json job = {{"prompts", golden_["job"]["prompts"]},
                    {"num_generations", 8},
                    {"max_completion_length", 5},
                    {"beta", 0.01},
                    {"eos_token_id", 0},
                    {"learning_rate", 3e-3},
                    {"num_iterations", 2}};
  const Json first = run(job);
  ASSERT_EQ(first["completions"].size(), 16u);
  for (const Json& completion : first["completions"]) {
    ASSERT_TRUE(completion.size() >= 1 && completion.size() <= 5);
    for (size_t t = 0; t + 1 < completion.size(); ++t) EXPECT_NE(completion[t], 0);
  }
  Json on_policy = job;
  on_policy["num_iterations"] = 1;
  const Json once = run(on_policy);
  expect_close(once["policy_logprobs"], once["old_logprobs"], 1e-5);
  EXPECT_EQ(once["completions"], first["completions"]);
  Json longer = on_policy;
  longer["num_steps"] = 40;
  EXPECT_GT(run(longer)["reward"].get<double>(), once["reward"].get<double>() + 0.2);
}

/// The part of a leaf's gradient that belongs to a named view of the leaf.
at::Tensor named_gradient(const Decoder& decoder, const at::Tensor& weight) {
  const float* data = weight.const_data_ptr<float>();
  for (const at::Tensor& leaf : decoder.parameters()) {
    const int64_t offset = data - leaf.const_data_ptr<float>();
    if (offset < 0 || offset >= leaf.numel()) continue;
    return leaf.grad().flatten().narrow(0, offset, weight.numel()).view(weight.sizes());
  }
  ADD_FAILURE() << "no leaf";
  return at::zeros_like(weight);
}

/// A job's fixed batch as the engine holds it.
Batch job_batch(const Json& job) {
  const auto group_size = job["num_generations"].get<size_t>();
  Batch batch;
  batch.groups.resize(job["prompts"].size());
  for (size_t i = 0; i < job["completions"].size(); ++i) {
    Group& group = batch.groups[i / group_size];
    group.prompt.token_ids = job["prompts"][i / group_size].get<std::vector<int32_t>>();
    group.samples.emplace_back();
    Sample& sample = group.samples.back();
    sample.completion.token_ids = job["completions"][i].get<std::vector<int32_t>>();
    sample.completion.sampler_logprobs = job["old_logprobs"][i].get<std::vector<float>>();
    if (!job["rewards"][i].is_null()) sample.reward = job["rewards"][i].get<double>();
    if (job["beta"].get<double>() != 0.0)
      sample.ref_logprobs = job["ref_logprobs"][i].get<std::vector<float>>();
  }
  return batch;
}

TEST_P(MinimalGrpo, AgreesWithTheEngine) {
  const Json job = golden_["job"];
  const Json result = run(job);
  const SafetensorsFile gradients(dir_ / "out/gradients.safetensors");
  Batch batch = job_batch(job);
  AdvantageConfig config;
  config.scale_rewards = job["scale_rewards"].get<std::string>();
  assign_credit(batch, config);
  std::vector<double> advantages;
  for_each_sample(batch.groups, [&](const Sample& sample) { advantages.push_back(sample.advantage); });
  expect_close(result["advantages"], Json(advantages), 1e-9);

  LossConfig objective;
  objective.max_completion_length = job["max_completion_length"].get<int64_t>();
  objective.loss_type = job["loss_type"].get<std::string>();
  objective.beta = job["beta"].get<double>();
  objective.epsilon = job["epsilon"].get<double>();
  objective.epsilon_high = job["epsilon_high"].get<double>();
  for (const bool recompute : {false, true}) {
    for (const int64_t tokens_per_microbatch : {1, 12, 1000}) {
      const auto decoder = load_pretrained(dir_ / "model", at::kFloat, at::kCPU);
      AdamW optimizer(decoder->parameters(), {});
      optimizer.zero_grad();
      const LossOptions options{job["temperature"].get<double>(), tokens_per_microbatch, recompute};
      const LossResult loss = accumulate_policy_gradient(*decoder, batch.groups, objective, options);
      EXPECT_NEAR(loss.objective.values().at("loss"), result["loss"].get<double>(), rounding_bound(200));
      const double grad_norm = result["grad_norm"].get<double>();
      EXPECT_NEAR(optimizer.grad_norm(), grad_norm, 1e-5 * grad_norm);
      for (const auto& [name, weight] : decoder->named_weights()) {
        const at::Tensor difference =
            named_gradient(*decoder, weight) - gradients.tensor(name).to(at::kFloat);
        EXPECT_LT(difference.norm().item<double>(), 1e-5 * grad_norm) << name << " " << tokens_per_microbatch;
      }
    }
  }
}

/// The job's prompts, all of them in each step.
class JobPrompts : public PromptSource {
 public:
  explicit JobPrompts(const Json& prompts) : prompts_(prompts) {}
  std::vector<Prompt> next(int64_t count) override {
    EXPECT_EQ(count, std::ssize(prompts_));
    std::vector<Prompt> prompts;
    for (const Json& ids : prompts_)
      prompts.push_back(
          {str("prompt ", prompts.size()), ids.get<std::vector<int32_t>>(), "", Json::object()});
    return prompts;
  }
  double epoch() const override { return 0.0; }
  Json save() const override { return nullptr; }
  void load(const Json&) override {}

 private:
  Json prompts_;
};

/// The recipe of `cohort train` that says what a job says.
TrainConfig recipe_of(const Json& job) {
  TrainConfig config;
  config.rollout.prompts_per_step = std::ssize(job["prompts"]);
  config.rollout.num_generations = job["num_generations"].get<int64_t>();
  config.rollout.max_completion_length = job["max_completion_length"].get<int64_t>();
  config.rollout.temperature = job["temperature"].get<double>();
  config.rollout.stop_token_ids = {job["eos_token_id"].get<int64_t>()};
  config.reward = {{.name = "mine"}};
  config.objective.num_iterations = job["num_iterations"].get<int64_t>();
  config.objective.advantages.scale_rewards = job["scale_rewards"].get<std::string>();
  LossConfig& loss = config.objective.loss;
  loss.loss_type = job["loss_type"].get<std::string>();
  loss.beta = job["beta"].get<double>();
  loss.epsilon = job["epsilon"].get<double>();
  loss.epsilon_high = job["epsilon_high"].get<double>();
  config.optimizer.learning_rate = job["learning_rate"].get<double>();
  config.optimizer.lr_scheduler_type = "constant";
  return config;
}

/// Appends what a step drew to the job's batches.
void add_batch(const Batch& batch, Json& job) {
  for_each_sample(batch.groups, [&](const Sample& sample) {
    job["completions"].push_back(sample.completion.token_ids);
    job["rewards"].push_back(sample.reward);
    job["old_logprobs"].push_back(sample.completion.sampler_logprobs);
    if (job["beta"].get<double>() != 0.0) job["ref_logprobs"].push_back(sample.ref_logprobs);
  });
}

// Three steps of two updates each on what the trainer drew: the program ends at the trainer's weights.
TEST_P(MinimalGrpo, AgreesWithTheTrainersSteps) {
  Json job = golden_["job"];
  for (const char* rows : {"completions", "rewards", "old_logprobs", "ref_logprobs"})
    job[rows] = Json::array();
  job.update({{"num_generations", 8}, {"num_steps", 3}, {"num_iterations", 2}, {"learning_rate", 2e-3}});
  job["eos_token_id"] = 0;
  const TrainConfig config = recipe_of(job);
  const auto policy = load_pretrained(dir_ / "model", at::kFloat, at::kCPU);
  const auto reference = load_pretrained(dir_ / "model", at::kFloat, at::kCPU);
  JobPrompts prompts(job["prompts"]);
  RewardScorer scorer(config.reward, judged_by(even_share));
  AdamW optimizer(policy->parameters(), config.optimizer);
  GrpoTrainer trainer(config, 6, *policy, job["beta"].get<double>() != 0.0 ? reference.get() : nullptr,
                      nullptr, nullptr, prompts, scorer, optimizer);
  StepReport last;
  for (int64_t step = 1; step <= 3; ++step) {
    last = trainer.step(step);
    add_batch(*last.batch, job);
  }
  const Json result = run(job);
  EXPECT_GT(find_metric(last.metrics, "ratio/max"), 1.01) << "the second update is off the sampler's policy";
  EXPECT_NEAR(find_metric(last.metrics, "reward"), result["reward"].get<double>(), 1e-9);
  EXPECT_NEAR(find_metric(last.metrics, "grad_norm"), result["grad_norm"].get<double>(),
              1e-3 * result["grad_norm"].get<double>());
  const SafetensorsFile weights(dir_ / "out/weights.safetensors");
  ASSERT_EQ(weights.tensors().size(), reference->named_weights().size());
  for (size_t i = 0; i < policy->named_weights().size(); ++i) {
    const auto& [name, weight] = policy->named_weights()[i];
    const at::Tensor move = weight.detach() - reference->named_weights()[i].second.detach();
    const double difference = (weight.detach() - weights.tensor(name)).norm().item<double>();
    EXPECT_GT(move.norm().item<double>(), 0.0) << name;
    // Adam divides by the gradient's size, so that rounding shows where a gradient is almost 0.
    EXPECT_LT(difference, 1e-2 * move.norm().item<double>()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, MinimalGrpo, testing::Values("llama", "qwen2", "qwen3"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace cohort
