// Every setting of a whole run changes what the run leaves behind. The settings are those that the sections
// declare, so that a new one without a sample fails.
#include <gtest/gtest.h>

#include <set>

#include "tests/train/whole_run.h"
#include "tests/train/whole_run_samples.h"

namespace cohort {
namespace {

using Samples = std::map<std::string, SettingSample>;

class EveryRunSettingTest : public testing::Test {
 protected:
  /// Goes through the fields of a section. `elsewhere`: those that other tests show.
  void expect_effects(const Section& section, const std::string& prefix, const Samples& samples,
                      const std::set<std::string>& elsewhere = {}, const std::string& tables = "") {
    std::set<std::string> names;
    for (const Field& field : section.fields) {
      SCOPED_TRACE(prefix + field.name);
      names.insert(field.name);
      if (elsewhere.contains(field.name)) continue;
      const auto sample = samples.find(field.name);
      if (sample == samples.end()) {
        ADD_FAILURE() << "add a value that changes a run to whole_run_samples.h";
        continue;
      }
      std::vector<std::string> settings = sample->second.beside;
      const RunTraces without = traces_of(settings, tables);
      settings.push_back(prefix + field.name + "=" + sample->second.value);
      EXPECT_FALSE(without == runs_.run(settings, tables)) << "it changes nothing";
    }
    for (const auto& [name, sample] : samples) EXPECT_TRUE(names.contains(name)) << "no setting " << name;
    for (const std::string& name : elsewhere) EXPECT_TRUE(names.contains(name)) << "no setting " << name;
  }

  const WholeRuns runs_;
  TrainConfig defaults_;

 private:
  /// Of a run that is the same each time.
  const RunTraces& traces_of(const std::vector<std::string>& settings, const std::string& tables) {
    const auto known = known_.find(settings);
    if (known != known_.end()) return known->second;
    const RunTraces first = runs_.run(settings, tables), second = runs_.run(settings, tables);
    for (const auto& [name, content] : first) {
      const auto again = second.find(name);
      EXPECT_TRUE(again != second.end() && again->second == content)
          << name << " differs in a second run: " << content.substr(0, 2000);
    }
    return known_[settings] = first;
  }

  std::map<std::vector<std::string>, RunTraces> known_;
};

// A sandbox that fails is one of failure_limits_test.cpp.
TEST_F(EveryRunSettingTest, OfTheLoopActs) {
  expect_effects(settings_of(defaults_.train), "train.", kTrainSamples,
                 {"max_sandbox_error_share", "max_rollbacks", "rollback_lr_scale"});
}

TEST_F(EveryRunSettingTest, OfRollbacksActs) {
  const std::string monitor =
      "[[monitor]]\nmetric = 'num_tokens'\nabove = 350\nwindow = 1\naction = 'rollback'\n";
  std::vector<std::string> settings{"train.save_steps=1", "train.max_steps=4"};
  const RunTraces without = runs_.run(settings, monitor);
  EXPECT_TRUE(without == runs_.run(settings, monitor));
  EXPECT_TRUE(without.contains("rollbacks.jsonl")) << without.at("log");
  for (const char* setting : {"train.max_rollbacks=1", "train.rollback_lr_scale=0.25"}) {
    std::vector<std::string> other = settings;
    other.emplace_back(setting);
    EXPECT_FALSE(without == runs_.run(other, monitor)) << setting;
  }
}

TEST_F(EveryRunSettingTest, OfTheDataActs) {
  expect_effects(settings_of(defaults_.data), "data.", kDataSamples);
}

TEST_F(EveryRunSettingTest, OfASourceActs) {
  DataSourceConfig source;
  expect_effects(settings_of(source), "data.source.0.", kSourceSamples, {},
                 "[[data.source]]\npath = 'others.jsonl'\n[[data.source]]\npath = 'rows.jsonl'\n");
}

TEST_F(EveryRunSettingTest, OfTheModelActs) {
  expect_effects(settings_of(defaults_.model), "model.", kModelSamples);
}

// `cohort train` refuses dropout: see the next test.
TEST_F(EveryRunSettingTest, OfAdaptersActs) {
  expect_effects(settings_of(defaults_.lora), "lora.", kLoraSamples, {"dropout"});
}

// Every run here has a directory.
TEST_F(EveryRunSettingTest, OfTheRunActs) {
  expect_effects(settings_of(defaults_.run), "run.", kRunSamples, {"dir"});
}

/// What a run is refused for.
struct Refused {
  std::vector<std::string> settings;
  const char* reason;
};

// Settings that nothing would heed, each refused by name.
TEST_F(EveryRunSettingTest, WithoutEffectIsRefused) {
  const std::vector<Refused> all = {
      {{"lora.r=4", "lora.dropout=0.1"}, "lora.dropout must be 0 in `cohort train`"},
      {{"lora.alpha=8"}, "[lora] has no effect without lora.r"},
      {{"train.eval_steps=1"}, "train.eval_steps needs data.eval_path"},
      {{"train.eval_on_start=true"}, "train.eval_on_start has no effect while train.eval_steps is 0"},
      {{"train.temperature_eval=0"}, "train.temperature_eval has no effect while train.eval_steps is 0"},
      {{"train.top_p_eval=0.5"}, "train.top_p_eval has no effect while train.eval_steps is 0"},
      {{"train.num_generations_eval=2"}, "train.num_generations_eval has no effect while"},
      {{"train.metric_for_best_model=eval_reward"}, "train.metric_for_best_model has no effect while"},
      {{"train.early_stopping_patience=1"}, "train.early_stopping_patience has no effect while"},
      {{"train.router_aux_loss_coef=0.1"}, "router_aux_loss_coef"},
      {{"data.eval_path=rows.jsonl"}, "data.eval_path has no effect while train.eval_steps is 0"},
      {{"train.steps_per_generation=4"}, "must be a multiple of train.steps_per_generation"},
  };
  for (const Refused& each : all) {
    const RunTraces traces = runs_.run(each.settings);
    const auto error = traces.find("error");
    ASSERT_NE(error, traces.end()) << each.settings.front();
    EXPECT_NE(error->second.find(each.reason), std::string::npos) << error->second;
  }
}

}  // namespace
}  // namespace cohort
