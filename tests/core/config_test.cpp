#include "cohort/core/config.h"

#include <gtest/gtest.h>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

struct Weighted {
  std::string name;
  double weight = 1.0;
};

/// Declared beside the struct, as for structs of folders that know nothing of settings.
void describe(FieldVisitor& f, Weighted& weighted) {
  f("name", weighted.name, "Name.");
  f("weight", weighted.weight, "Weight.", at_least(0.0));
}

struct Sampling {
  std::string path;
  double temperature = 1.0;
  std::optional<int64_t> top_k;
  std::vector<std::string> stop_strings;
  std::map<std::string, std::string> columns;
  bool ignore_eos = false;

  void describe(FieldVisitor& f) {
    f("path", path, "Path.");
    f("temperature", temperature, "Divides | the logits.", above(0.0));
    f("top_k", top_k, "Kept tokens.", at_least(1));
    f("stop_strings", stop_strings, "Texts.");
    f("columns", columns, "Names.");
    f("ignore_eos", ignore_eos, "Go on.");
  }
};

struct Model {
  std::string path;
  std::string dtype = "float32";

  void describe(FieldVisitor& f) {
    f("path", path, "Path.");
    f("dtype", dtype, "Type.", one_of({"float32", "bfloat16"}));
  }
};

struct Recipe {
  int64_t seed = 42;
  std::optional<double> share;
  Sampling sampling;
  Model model;
  std::vector<Weighted> reward;

  void describe(FieldVisitor& f) {
    f("seed", seed, "Seed.");
    f("share", share, "Share.", above_up_to(0.0, 1.0));
    f("sampling", sampling, "How.");
    f("model", model, "What.");
    f("reward", reward, "Why.");
  }
};

Recipe from_toml(const std::string& text) {
  Recipe recipe;
  apply_toml_text(settings_of(recipe), text, "r.toml");
  return recipe;
}

Recipe from_flags(const std::vector<std::string>& arguments) {
  Recipe recipe;
  apply_flags(settings_of(recipe), arguments);
  return recipe;
}

std::string toml_error(const std::string& text) {
  return message_of<ConfigError>([&] { from_toml(text); });
}

std::string flag_error(const std::vector<std::string>& arguments) {
  return message_of<ConfigError>([&] { from_flags(arguments); });
}

TEST(Toml, SetsEveryType) {
  const Recipe recipe = from_toml(
      "seed = -7\nshare = 1\n[sampling]\npath = \"p\"\ntemperature = 5e-1\ntop_k = 3\nstop_strings = [\"a\", "
      "\"b\"]\n"
      "ignore_eos = true\n[[reward]]\nname = \"x\"\n[[reward]]\nname = \"y\"\nweight = 2\n");
  EXPECT_EQ(recipe.seed, -7);
  EXPECT_EQ(recipe.share, 1.0);
  EXPECT_EQ(recipe.sampling.path, "p");
  EXPECT_EQ(recipe.sampling.temperature, 0.5);
  EXPECT_EQ(recipe.sampling.top_k, 3);
  EXPECT_EQ(recipe.sampling.stop_strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(recipe.sampling.ignore_eos);
  ASSERT_EQ(recipe.reward.size(), 2u);
  EXPECT_EQ(recipe.reward[0].name + recipe.reward[1].name, "xy");
  EXPECT_EQ(recipe.reward[0].weight, 1.0);
  EXPECT_EQ(recipe.reward[1].weight, 2.0);
  EXPECT_EQ(recipe.model.dtype, "float32");
}

TEST(Toml, NamesLineAndNearestKeyOfAnUnknownOne) {
  EXPECT_EQ(toml_error("seed = 1\n[sampling]\ntemprature = 1.0\n"),
            "r.toml:3: unknown key sampling.temprature; did you mean sampling.temperature?");
  EXPECT_EQ(toml_error("[model]\ntop_k = 1\n"),
            "r.toml:2: unknown key model.top_k; did you mean sampling.top_k?");
  EXPECT_EQ(toml_error("sead = 1\n"), "r.toml:1: unknown key sead; did you mean seed?");
  EXPECT_EQ(toml_error("[[reward]]\nwieght = 1.0\n"),
            "r.toml:2: unknown key reward.0.wieght; did you mean reward.0.weight?");
}

TEST(Toml, NamesValueAndRange) {
  EXPECT_EQ(toml_error("[sampling]\ntemperature = 0"),
            "r.toml:2: sampling.temperature is 0, but must be a number: above 0");
  EXPECT_EQ(toml_error("share = 1.5"), "r.toml:1: share is 1.5, but must be a number: above 0, at most 1");
  EXPECT_EQ(toml_error("[model]\ndtype = \"int8\""),
            "r.toml:2: model.dtype is \"int8\", but must be a string: float32 or bfloat16");
  EXPECT_EQ(toml_error("seed = 1.0"), "r.toml:1: seed is 1.0, but must be an integer");
  EXPECT_EQ(toml_error("seed = \"1\""), "r.toml:1: seed is \"1\", but must be an integer");
  EXPECT_EQ(toml_error("[sampling]\nignore_eos = 1"),
            "r.toml:2: sampling.ignore_eos is 1, but must be a bool");
  toml_error("[sampling]\ntemperature = nan");
  toml_error("[sampling]\ntemperature = inf");
  toml_error("[sampling]\nstop_strings = [1]");
  toml_error("seed = 1979-05-27");
}

struct Ids {
  std::vector<int64_t> ids;

  void describe(FieldVisitor& f) { f("ids", ids, "Ids.", at_least(0)); }
};

std::string refusal_of_ids(const std::string& toml) {
  Ids ids;
  try {
    apply_toml_text(settings_of(ids), toml, "r.toml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Toml, ReadsListsOfIntegers) {
  Ids ids;
  apply_toml_text(settings_of(ids), "ids = [3, 0, 70000000000]", "r.toml");
  EXPECT_EQ(ids.ids, (std::vector<int64_t>{3, 0, 70000000000}));
  EXPECT_EQ(to_toml(settings_of(ids)), "ids = [3, 0, 70000000000]\n");
  apply_flags(settings_of(ids), {"--ids", "5", "--ids=7"});
  EXPECT_EQ(ids.ids, (std::vector<int64_t>{5, 7}));
  apply_toml_text(settings_of(ids), "ids = 9", "r.toml");
  EXPECT_EQ(ids.ids, std::vector<int64_t>{9});
  apply_toml_text(settings_of(ids), "ids = []", "r.toml");
  EXPECT_TRUE(ids.ids.empty());
  EXPECT_EQ(refusal_of_ids("ids = [1, -2]"),
            "r.toml:1: ids is [1, -2], but must be a list of integers: at least 0");
  EXPECT_EQ(refusal_of_ids("ids = [\"1\"]"),
            "r.toml:1: ids is [\"1\"], but must be a list of integers: at least 0");
  EXPECT_TRUE(refusal_of_ids("ids = [1, 2.5]").starts_with("r.toml:1: ids must be true or false"));
  EXPECT_THROW(apply_flags(settings_of(ids), {"--ids", "x"}), ConfigError);
}

TEST(Toml, NamesTheLineOfMalformedText) {
  EXPECT_TRUE(toml_error("seed = 1\nshare = \n").starts_with("r.toml:2: malformed TOML: "));
  EXPECT_EQ(toml_error("sampling = 1"), "r.toml:1: sampling is a section: write [sampling]");
  EXPECT_EQ(toml_error("[reward]\nname = \"x\""), "r.toml:1: reward is a list of sections: write [[reward]]");
}

using Table = std::map<std::string, std::string>;

TEST(Toml, AStringIsAListOfOneAndATableHasStrings) {
  const Recipe recipe =
      from_toml("[sampling]\nstop_strings = \"a\"\ncolumns = {prompt = \"q\", \"a b\" = \"c\"}\n");
  EXPECT_EQ(recipe.sampling.stop_strings, (std::vector<std::string>{"a"}));
  EXPECT_EQ(recipe.sampling.columns, (Table{{"prompt", "q"}, {"a b", "c"}}));
  EXPECT_EQ(toml_error("[sampling]\ncolumns = {prompt = 1}\n"),
            "r.toml:2: sampling.columns is {\"prompt\" = 1.0}, but must be a table of strings");
  EXPECT_EQ(toml_error("[sampling]\ncolumns = {answer = \"a\", prompt = 1}\n"),
            "r.toml:2: sampling.columns.prompt must be a string");
  EXPECT_EQ(toml_error("[sampling]\ncolumns = \"q\"\n"),
            "r.toml:2: sampling.columns is \"q\", but must be a table of strings");
  EXPECT_EQ(toml_error("[sampling]\npath = {a = \"b\"}\n"),
            "r.toml:2: sampling.path is {\"a\" = \"b\"}, but must be a string");
}

struct Patterns {
  std::map<std::string, int64_t> ranks;
  std::map<std::string, double> alphas;

  void describe(FieldVisitor& f) {
    f("ranks", ranks, "", at_least(1));
    f("alphas", alphas, "", above(0.0));
  }
};

TEST(Toml, TablesHaveNumbers) {
  Patterns patterns;
  apply_toml_text(settings_of(patterns), "ranks = {q = 2, \"a.b\" = 3}\nalphas = {q = 1.5, v = 2}\n",
                  "r.toml");
  EXPECT_EQ(patterns.ranks, (std::map<std::string, int64_t>{{"q", 2}, {"a.b", 3}}));
  EXPECT_EQ(patterns.alphas, (std::map<std::string, double>{{"q", 1.5}, {"v", 2.0}}));
  apply_flags(settings_of(patterns), {"--ranks", "k=4", "--ranks", "q=5", "--alphas=v=0.5"});
  EXPECT_EQ(patterns.ranks, (std::map<std::string, int64_t>{{"k", 4}, {"q", 5}}));
  EXPECT_EQ(patterns.alphas, (std::map<std::string, double>{{"v", 0.5}}));
  const std::string written = to_toml(settings_of(patterns));
  Patterns read;
  apply_toml_text(settings_of(read), written, "written");
  EXPECT_EQ(read.ranks, patterns.ranks);
  const auto error = [&](const std::string& text) {
    return message_of<ConfigError>([&] { apply_toml_text(settings_of(patterns), text, "r.toml"); });
  };
  EXPECT_EQ(error("ranks = {q = 1.5}"),
            "r.toml:1: ranks is {\"q\" = 1.5}, but must be a table of integers: at least 1");
  EXPECT_EQ(error("ranks = {q = 0}"),
            "r.toml:1: ranks is {\"q\" = 0.0}, but must be a table of integers: at least 1");
  EXPECT_EQ(error("alphas = {q = 1, v = \"x\"}"), "r.toml:1: alphas.v must be a number");
  apply_toml_text(settings_of(patterns), "ranks = {}", "r.toml");
  EXPECT_TRUE(patterns.ranks.empty());
}

TEST(Flags, GiveATableOncePerPair) {
  Recipe recipe = from_toml("[sampling]\ncolumns = {old = \"x\"}\n");
  apply_flags(settings_of(recipe), {"--columns", "prompt=q", "--columns=answer=a=b"});
  EXPECT_EQ(recipe.sampling.columns, (Table{{"prompt", "q"}, {"answer", "a=b"}}));
  EXPECT_EQ(flag_error({"--columns", "q"}),
            "--columns: sampling.columns is \"q\", but must be a table of strings");
}

TEST(Toml, LaterFilesWinAndReplaceLists) {
  TemporaryDirectory directory;
  write_text(directory.path() / "a.toml",
             "seed = 1\nshare = 0.5\n[[reward]]\nname = \"x\"\n[[reward]]\nname = \"y\"\n");
  write_text(directory.path() / "b.toml", "seed = 2\n[[reward]]\nweight = 3.0\n");
  Recipe recipe;
  apply_toml_file(settings_of(recipe), directory.path() / "a.toml");
  apply_toml_file(settings_of(recipe), directory.path() / "b.toml");
  EXPECT_EQ(recipe.seed, 2);
  EXPECT_EQ(recipe.share, 0.5);
  ASSERT_EQ(recipe.reward.size(), 1u);
  EXPECT_EQ(recipe.reward[0].name, "");
  apply_flags(settings_of(recipe), {"--seed", "3"});
  EXPECT_EQ(recipe.seed, 3);
  EXPECT_THROW(apply_toml_file(settings_of(recipe), directory.path() / "c.toml"), ConfigError);
}

TEST(Flags, TakeDottedUnderscoredAndLeafNames) {
  EXPECT_EQ(from_flags({"--sampling.temperature", "0.5"}).sampling.temperature, 0.5);
  EXPECT_EQ(from_flags({"--sampling-temperature=5e-1"}).sampling.temperature, 0.5);
  EXPECT_EQ(from_flags({"--top-k", "7"}).sampling.top_k, 7);
  EXPECT_EQ(from_flags({"--top_k=7"}).sampling.top_k, 7);
  EXPECT_EQ(from_flags({"--model-path", "m"}).model.path, "m");
  EXPECT_EQ(from_flags({"--seed", "-5"}).seed, -5);
  EXPECT_EQ(from_flags({"--model.path=a=b"}).model.path, "a=b");
}

TEST(Flags, LeaveOtherArgumentsInOrder) {
  Recipe recipe;
  const auto others =
      apply_flags(settings_of(recipe), {"a.toml", "--ignore-eos", "b.toml", "--seed", "1", "c"});
  EXPECT_EQ(others, (std::vector<std::string>{"a.toml", "b.toml", "c"}));
  EXPECT_TRUE(recipe.sampling.ignore_eos);
}

TEST(Flags, BoolsMayHaveAValue) {
  EXPECT_FALSE(from_flags({"--ignore-eos", "--ignore-eos", "false"}).sampling.ignore_eos);
  EXPECT_TRUE(from_flags({"--ignore-eos=true"}).sampling.ignore_eos);
  flag_error({"--ignore-eos=yes"});
}

TEST(Flags, RepeatAListAndReplaceThatOfFiles) {
  Recipe recipe = from_toml("[sampling]\nstop_strings = [\"old\"]\n");
  apply_flags(settings_of(recipe), {"--stop_strings", "a", "--stop_strings=b"});
  EXPECT_EQ(recipe.sampling.stop_strings, (std::vector<std::string>{"a", "b"}));
}

TEST(Flags, ReachAndExtendListsOfSections) {
  Recipe recipe = from_toml("[[reward]]\nname = \"x\"\n");
  apply_flags(settings_of(recipe),
              {"--reward.0.weight", "2", "--reward.1.name", "y", "--reward-1-weight", "0"});
  ASSERT_EQ(recipe.reward.size(), 2u);
  EXPECT_EQ(recipe.reward[0].weight, 2.0);
  EXPECT_EQ(recipe.reward[1].name, "y");
  EXPECT_EQ(recipe.reward[1].weight, 0.0);
  flag_error({"--reward.1.name", "z"});
  flag_error({"--weight", "1"});
}

TEST(Flags, NameWhatIsWrong) {
  EXPECT_EQ(flag_error({"--temprature", "1"}),
            "--temprature: unknown key temprature; did you mean sampling.temperature?");
  EXPECT_EQ(flag_error({"--model-dtyp", "x"}),
            "--model-dtyp: unknown key model_dtyp; did you mean model.dtype?");
  EXPECT_EQ(flag_error({"--path", "x"}), "--path is ambiguous: write --sampling.path or --model.path");
  EXPECT_EQ(flag_error({"--seed"}), "--seed needs a value: an integer");
  EXPECT_EQ(flag_error({"--seed", "1x"}), "--seed: seed is \"1x\", but must be an integer");
  EXPECT_EQ(flag_error({"--seed", "99999999999999999999"}),
            "--seed: seed is \"99999999999999999999\", but must be an integer");
  EXPECT_EQ(flag_error({"--top-k=0"}), "--top-k: sampling.top_k is 0, but must be an integer: at least 1");
  EXPECT_EQ(flag_error({"-s", "1"}), "unknown flag -s; flags begin with two dashes");
  flag_error({"--share", "nan"});
}

TEST(Dump, ReadsBackTheSameBits) {
  Recipe recipe;
  recipe.seed = INT64_MIN;
  recipe.share = 0.1 + 0.2;
  recipe.sampling.temperature = 5e-324;
  recipe.sampling.path = "\"q\" \\ \n\t\x01\x7f é";
  recipe.sampling.stop_strings = {"", "\n\n", "]"};
  recipe.sampling.columns = {{"a.b \"", "="}, {"c", ""}};
  recipe.reward = {{"a", 1.0}, {"b", 1e300}};
  const std::string text = to_toml(settings_of(recipe));
  Recipe read = from_toml(text);
  EXPECT_EQ(read.seed, recipe.seed);
  EXPECT_EQ(read.share, recipe.share);
  EXPECT_EQ(read.sampling.temperature, recipe.sampling.temperature);
  EXPECT_EQ(read.sampling.path, recipe.sampling.path);
  EXPECT_EQ(read.sampling.stop_strings, recipe.sampling.stop_strings);
  EXPECT_EQ(read.sampling.columns, recipe.sampling.columns);
  EXPECT_FALSE(read.sampling.top_k.has_value());
  ASSERT_EQ(read.reward.size(), 2u);
  EXPECT_EQ(read.reward[1].weight, 1e300);
  EXPECT_EQ(to_toml(settings_of(read)), text);
}

TEST(Dump, WritesIntegersAndNumbersApart) {
  Recipe recipe;
  recipe.sampling.temperature = 100000.0;
  const std::string text = to_toml(settings_of(recipe));
  EXPECT_TRUE(text.starts_with("seed = 42\n\n[sampling]\npath = \"\"\ntemperature = 1")) << text;
  EXPECT_EQ(from_toml(text).sampling.temperature, 100000.0);
}

TEST(Docs, ListEveryKeyWithTypeDefaultRangeAndMeaning) {
  Recipe recipe;
  const std::string markdown = to_markdown(settings_of(recipe));
  EXPECT_NE(markdown.find("### `[sampling]`\n\nHow.\n\n| key | type | default | range | meaning |\n"),
            std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("| `temperature` | number | `1.0` | above 0 | Divides \\| the logits. |\n"),
            std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("| `top_k` | integer | unset | at least 1 | Kept tokens. |\n"), std::string::npos);
  EXPECT_NE(markdown.find("### `[[reward]]`"), std::string::npos);
  const std::string help = to_help(settings_of(recipe));
  EXPECT_NE(help.find("  --model.dtype  (string: float32 or bfloat16; default \"float32\")\n      Type.\n"),
            std::string::npos)
      << help;
  EXPECT_NE(help.find("  --reward.0.weight  (number: at least 0; default 1.0)\n"), std::string::npos) << help;
}

TEST(Limits, AreInclusiveUnlessOpen) {
  EXPECT_TRUE(at_least(1.0).contains(1.0));
  EXPECT_FALSE(above(1.0).contains(1.0));
  EXPECT_TRUE(between(0.0, 1.0).contains(1.0));
  EXPECT_FALSE(at_least_below(0.0, 1.0).contains(1.0));
  EXPECT_FALSE(above_up_to(0.0, 1.0).contains(0.0));
  EXPECT_EQ(at_least_below(0.0, 1.0).describe(), "at least 0, below 1");
  EXPECT_EQ(one_of({"a", "b", "c"}).describe(), "a, b or c");
  EXPECT_EQ(Limits{}.describe(), "");
}

}  // namespace
}  // namespace cohort
