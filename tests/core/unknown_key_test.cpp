// Keys and sections that do not exist: other tools' names, misspelt sections and short names with two
// meanings.
#include <gtest/gtest.h>

#include "cohort/core/config_io.h"
#include "cohort/core/config_values.h"
#include "cohort/core/error.h"
#include "cohort/core/peer_keys.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

struct Optimizer {
  double learning_rate = 1e-6;
  double max_grad_norm = 1.0;

  void describe(FieldVisitor& f) {
    f("learning_rate", learning_rate, "Rate.");
    f("max_grad_norm", max_grad_norm, "Bound.");
  }
};

struct Critic {
  double lr = 1e-6;
  std::string kind;

  void describe(FieldVisitor& f) {
    f("lr", lr, "Rate.");
    f("kind", kind, "Kind.");
  }
};

struct Source {
  std::string path;
  void describe(FieldVisitor& f) { f("path", path, "Path."); }
};

struct Data {
  std::vector<Source> source;
  ScalarTable chat_template_kwargs;

  void describe(FieldVisitor& f) {
    f("chat_template_kwargs", chat_template_kwargs, "Variables.");
    f("source", source, "Sources.");
  }
};

struct Rollout {
  int64_t num_generations = 8;
  int64_t prompts_per_step = 8;

  void describe(FieldVisitor& f) {
    f("num_generations", num_generations, "Group.");
    f("prompts_per_step", prompts_per_step, "Prompts.");
  }
};

struct Recipe {
  Optimizer optimizer;
  Critic critic;
  Rollout rollout;
  Data data;

  void describe(FieldVisitor& f) {
    f("optimizer", optimizer, "How.");
    f("critic", critic, "Values.");
    f("rollout", rollout, "Draws.");
    f("data", data, "Rows.");
  }
};

std::string toml_error(const std::string& text) {
  Recipe recipe;
  return message_of<ConfigError>([&] { apply_toml_text(settings_of(recipe), text, "r.toml"); });
}

std::string flag_error(const std::vector<std::string>& arguments) {
  Recipe recipe;
  return message_of<ConfigError>([&] { apply_flags(settings_of(recipe), arguments); });
}

TEST(UnknownSection, NamesTheNearest) {
  EXPECT_EQ(toml_error("[optimiser]\nlearning_rate = 1.0\n"),
            "r.toml:1: unknown section [optimiser]; did you mean [optimizer]?");
  EXPECT_EQ(toml_error("\n[rolout]\n"), "r.toml:2: unknown section [rolout]; did you mean [rollout]?");
  EXPECT_EQ(toml_error("[[data.sources]]\npath = \"a\"\n"),
            "r.toml:1: unknown section [[data.sources]]; did you mean [[data.source]]?");
  EXPECT_EQ(toml_error("[dataset]\npath = \"a\"\n"),
            "r.toml:1: unknown section [dataset]; did you mean [data]?");
  EXPECT_EQ(toml_error("[weather]\n"),
            "r.toml:1: unknown section [weather]; the sections are [optimizer], [critic], [rollout], [data]");
}

TEST(UnknownKey, NamesTheKeyThatAnotherToolsNameStandsFor) {
  EXPECT_EQ(toml_error("[optimizer]\nlr = 1.0\n"),
            "r.toml:2: unknown key optimizer.lr; Cohort's name for it is optimizer.learning_rate");
  EXPECT_EQ(flag_error({"--rollout.n", "4"}),
            "--rollout.n: unknown key rollout.n; Cohort's name for it is rollout.num_generations");
  EXPECT_EQ(flag_error({"--per_device_train_batch_size", "4"}),
            "--per_device_train_batch_size: unknown key per_device_train_batch_size; Cohort's name for it is "
            "rollout.prompts_per_step");
  EXPECT_EQ(
      flag_error({"--actor-rollout-ref.actor.grad-clip", "4"}),
      "--actor-rollout-ref.actor.grad-clip: unknown key actor_rollout_ref.actor.grad_clip; Cohort's name "
      "for it is optimizer.max_grad_norm");
}

TEST(UnknownKey, ALetterAloneIsNearToNothing) {
  EXPECT_EQ(flag_error({"--q", "3"}),
            "--q: unknown key q; Cohort has none like it, and `--help` lists all keys");
}

TEST(UnknownKey, SaysThatThereIsNone) {
  EXPECT_EQ(
      flag_error({"--vllm_server_host", "x"}),
      "--vllm_server_host: unknown key vllm_server_host; Cohort has none: Cohort samples with an engine of "
      "its own; remove the key");
  EXPECT_EQ(
      toml_error("[rollout]\nnonsense_of_mine = 1\n"),
      "r.toml:2: unknown key rollout.nonsense_of_mine; Cohort has none like it, and `--help` lists all keys");
  EXPECT_EQ(flag_error({"--optimizer", "adam"}),
            "--optimizer: unknown key optimizer; Cohort has none: the optimizer is AdamW; remove the key");
  EXPECT_EQ(flag_error({"--critic", "x"}),
            "--critic: unknown key critic; it is the section [critic]: set one of its keys");
}

TEST(ShortName, WithAnotherMeaningElsewhereIsRefused) {
  EXPECT_EQ(flag_error({"--lr", "1e-3"}),
            "--lr is ambiguous: write --optimizer.learning_rate or --critic.lr");
  Recipe recipe;
  apply_flags(settings_of(recipe), {"--critic-lr", "0.5", "--learning-rate", "0.25", "--kind", "head"});
  EXPECT_EQ(recipe.critic.lr, 0.5);
  EXPECT_EQ(recipe.optimizer.learning_rate, 0.25);
  EXPECT_EQ(recipe.critic.kind, "head");
}

TEST(PeerKeys, StandOnceEach) {
  const std::optional<PeerKey> exact = find_peer_key("actor.optim.lr");
  ASSERT_TRUE(exact.has_value());
  EXPECT_EQ(present_peer_keys(*exact, {"a", "optimizer.learning_rate"}),
            std::vector<std::string>{"optimizer.learning_rate"});
  EXPECT_EQ(std::string(find_peer_key("vllm_mode")->name), "vllm_*");
  EXPECT_FALSE(find_peer_key("no_such_key").has_value());
  EXPECT_FALSE(find_peer_key("learning_rate").has_value());
}

TEST(ScalarTable, TakesValuesOfSeveralTypes) {
  Recipe recipe;
  ScalarTable& table = recipe.data.chat_template_kwargs;
  apply_toml_text(
      settings_of(recipe),
      "[data]\nchat_template_kwargs = {enable_thinking = false, effort = \"low\", n = 3, t = 0.5}\n",
      "r.toml");
  const ScalarTable expected{{"enable_thinking", false}, {"effort", "low"}, {"n", int64_t{3}}, {"t", 0.5}};
  EXPECT_EQ(table, expected);
  Recipe read;
  apply_toml_text(settings_of(read), to_toml(settings_of(recipe)), "written");
  EXPECT_EQ(read.data.chat_template_kwargs, expected);
  apply_flags(settings_of(recipe),
              {"--chat-template-kwargs", "enable_thinking=true", "--data.chat_template_kwargs=effort=a=b",
               "--chat-template-kwargs", "n=-4", "--chat-template-kwargs", "t=1e-2", "--chat-template-kwargs",
               "v=1.x"});
  EXPECT_EQ(
      table,
      (ScalarTable{
          {"enable_thinking", true}, {"effort", "a=b"}, {"n", int64_t{-4}}, {"t", 0.01}, {"v", "1.x"}}));
  EXPECT_EQ(toml_error("[data]\nchat_template_kwargs = {a = [1]}\n"),
            "r.toml:2: data.chat_template_kwargs.a must be true or false, a number or a string");
  EXPECT_EQ(flag_error({"--chat_template_kwargs", "x"}),
            "--chat_template_kwargs: data.chat_template_kwargs is \"x\", but must be a table of values");
}

}  // namespace
}  // namespace cohort
