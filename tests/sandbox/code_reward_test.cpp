// The code reward as a whole: its languages, its settings, and what it does before the first completion.
#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/rewards/reward.h"
#include "tests/core/test_files.h"
#include "tests/rewards/test_rows.h"
#include "tests/sandbox/sandbox_fixture.h"

namespace cohort {
namespace {

const Json kAssertTests = {"assert f(2) == 11", "assert f(5) == 32", "assert f(9) == 88"};

TEST(CodeReward, AllOrNothing) {
  const auto reward = make_reward(
      {.name = "code", .keys = {{"timeout_s", 1.0}, {"all_tests", true}, {"waive_layers", waived_layers()}}});
  const auto score = [&](const char* program) {
    return reward->score(make_prompt({{"tests", kAssertTests}}),
                         make_completion(str("```py\n", program, "\n```")));
  };
  EXPECT_EQ(brief(score("def f(n): return n * n + 7")), "1 ok");
  EXPECT_EQ(brief(score("def f(n): return 11")), "0 ok");
}

TEST(CodeReward, CompiledAndOtherLanguages) {
  const Json tests = {{{"stdin", "20 22"}, {"stdout", "42"}}};
  const auto score = [&](Reward& reward, const std::string& text) {
    return reward.score(make_prompt({{"tests", tests}}), make_completion(text));
  };
  const auto cpp = make_reward(
      {.name = "code", .keys = {{"language", "cpp"}, {"workers", 1}, {"waive_layers", waived_layers()}}});
  EXPECT_EQ(brief(score(*cpp,
                        "```cpp\n#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout "
                        "<< a + b; }\n```")),
            "1 ok");
  const RewardResult broken = score(*cpp, "```c++\nint main() { return x; }\n```");
  EXPECT_EQ(brief(broken), "0 ok");
  EXPECT_EQ(broken.detail.find("does not compile: "), 0U) << broken.detail;
  EXPECT_NE(
      score(*cpp, "```cpp\n#include \"/etc/passwd\"\nint main() {}\n```").detail.find("does not compile"),
      std::string::npos);
  const auto bash = make_reward(
      {.name = "code", .keys = {{"language", "bash"}, {"workers", 1}, {"waive_layers", waived_layers()}}});
  const RewardResult sum = score(*bash, "```bash\nread a b; echo $((a + b))\n```");
  EXPECT_EQ(brief(sum), "1 ok") << sum.detail;
  Json calls = {"assert f(1) == 2"};
  const RewardResult result =
      bash->score(make_prompt({{"tests", calls}}), make_completion("```bash\n:\n```"));
  EXPECT_EQ(brief(result), "0 unparsed");
}

// The imports that LeetCode's judge puts before a solution.
TEST(CodeReward, SolutionsFindTheNamesThatJudgesImport) {
  const std::string solution =
      "class Solution:\n"
      "    @lru_cache(None)\n"
      "    def ways(self, n: Optional[int]) -> int:\n"
      "        heap = [n]\n"
      "        heapq.heapify(heap)\n"
      "        counts: Dict[int, List[int]] = defaultdict(list)\n"
      "        counts[gcd(n, 4)].append(bisect_left([1, 3], heappop(heap)))\n"
      "        return [max(accumulate([1, 2])), counts, Counter('aab')['a'], deque([n])[0], inf > math.pi, "
      "pow(2, 3, 5)]\n";
  const auto score = [&](const std::string& program, const Json& tests, const std::string& prelude = "") {
    const auto reward =
        make_reward({.name = "code", .keys = {{"waive_layers", waived_layers()}, {"prelude", prelude}}});
    return reward->score(make_prompt({{"tests", tests}}), make_completion("```python\n" + program + "```"));
  };
  const Json call = "assert Solution().ways(6)[2:] == [2, 6, True, 3]";
  EXPECT_EQ(brief(score(solution, Json::array({call}))), "1 ok")
      << score(solution, Json::array({call})).detail;
  const RewardResult without = score(solution, Json::array({call}), "none");
  EXPECT_EQ(brief(without), "0 ok");
  EXPECT_NE(without.detail.find("NameError"), std::string::npos) << without.detail;
  // A function of its own gets nothing, and a prelude of the user's goes before every program.
  const std::string function = "def f(n):\n    return floor(n)\n";
  EXPECT_EQ(brief(score(function, Json::array({"assert f(2.5) == 2"}))), "0 ok");
  EXPECT_EQ(brief(score(function, Json::array({"assert f(2.5) == 2"}), "from math import *")), "1 ok");
  EXPECT_EQ(brief(score("print(floor(2.5))\n", {{{"stdin", ""}, {"stdout", "2"}}}, "from math import *")),
            "1 ok");
  EXPECT_EQ(brief(score(function, {{"fn_name", "f"}, {"inputs", {{2.5}}}, {"outputs", {2}}})), "1 ok");
  // Names of the program's own come first.
  EXPECT_EQ(brief(score("floor = len\nclass Solution:\n    def f(self, x):\n        return floor(x)\n",
                        Json::array({"assert Solution().f([1, 2, 3]) == 3"}))),
            "1 ok");
  const RewardResult line = score("class Solution:\n    def f(self, x: List[int]):\n        return x.y\n",
                                  Json::array({"assert Solution().f([1]) == 3"}));
  EXPECT_NE(line.detail.find("AttributeError"), std::string::npos) << line.detail;
  const auto refused = [&](const RewardConfig& config) {
    return message_of<ConfigError>([&] { make_reward(config); });
  };
  EXPECT_NE(refused({.name = "code",
                     .keys = {{"waive_layers", waived_layers()}, {"prelude", "import nosuchmodule"}}})
                .find("nosuchmodule"),
            std::string::npos);
  EXPECT_NE(refused({.name = "code",
                     .keys = {{"language", "bash"}, {"waive_layers", waived_layers()}, {"prelude", "x = 1"}}})
                .find("`prelude`"),
            std::string::npos);
}

TEST(CodeReward, RunsTheFormsOfPublicDataSets) {
  const auto reward = make_reward({.name = "code", .keys = {{"waive_layers", waived_layers()}}});
  const auto score = [&](const std::string& program, const Json& fields) {
    return reward->score(make_prompt(fields), make_completion("```python\n" + program + "\n```"));
  };
  const std::string function = "def total(a, b):\n    return a + b";
  const std::string method = "class Solution:\n    def total(self, a, b):\n        return a + b";
  for (const std::string& program : {function, method}) {
    const Json calls = {{"fn_name", "total"}, {"inputs", {{1, 2}, {3, 4}}}, {"outputs", {3, 8}}};
    EXPECT_EQ(brief(score(program, {{"tests", calls}})), "0.5 ok");
    const Json live =
        Json::array({{{"input", "[1]\n[2, 3]"}, {"output", "[1, 2, 3]"}, {"testtype", "functional"}}});
    EXPECT_EQ(brief(score(program, {{"tests", live.dump()}, {"metadata", {{"func_name", "total"}}}})),
              "1 ok");
  }
  const Json streams = {{"inputs", {"1 2", "5 6"}}, {"outputs", {"3\n", "11\n"}}};
  EXPECT_EQ(brief(score("print(sum(map(int, input().split())))", {{"input_output", streams.dump()}})),
            "1 ok");
  const std::string check =
      "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(0, 0) == 1\n";
  EXPECT_EQ(brief(score(function, {{"test", check}, {"entry_point", "total"}})), "0.5 ok");
  const Json mbpp = {{"test_list", {"assert total(one, 2) == 3"}},
                     {"test_setup_code", "one = Number(1).value"}};
  EXPECT_EQ(
      brief(score(function + "\nclass Number:\n    def __init__(self, value):\n        self.value = value",
                  mbpp)),
      "1 ok");
  // A program that replaces what its tests use judges nothing.
  EXPECT_EQ(brief(score("class Any:\n    def __eq__(self, other): return True\ndef total(a, b): return Any()",
                        {{"test", check}, {"entry_point", "total"}})),
            "0 ok");
}

TEST(CodeReward, AToleranceForAllFloats) {
  const auto score = [&](std::optional<double> tolerance, const std::string& program, const Json& test) {
    const auto reward =
        make_reward({.name = "code", .keys = {{"waive_layers", waived_layers()}, {"tolerance", tolerance}}});
    return brief(reward->score(make_prompt({{"tests", Json::array({test})}}),
                               make_completion("```python\n" + program + "\n```")));
  };
  const Json printed = {{"stdin", ""}, {"stdout", "0.142857142857"}};
  EXPECT_EQ(score(std::nullopt, "print(1 / 7)", printed), "1 ok");
  EXPECT_EQ(score(0.0, "print(1 / 7)", printed), "0 ok");
  EXPECT_EQ(score(std::nullopt, "print(0.1429)", printed), "0 ok");
  EXPECT_EQ(score(0.001, "print(0.1429)", printed), "1 ok");
  const Json returned = {{"call", "f"}, {"expected", 0.142857}};
  EXPECT_EQ(score(std::nullopt, "def f(): return 1 / 7", returned), "0 ok");
  EXPECT_EQ(score(1e-6, "def f(): return 1 / 7", returned), "1 ok");
}

// What the language's programs need, but can't see, is found before any completion gets a 0 for it.
TEST(CodeReward, TriesTheLanguageAtTheStart) {
  TemporaryDirectory folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const std::string program = (folder.path() / "true").string();
  std::filesystem::copy_file("/bin/true", program);
  RewardConfig config{.name = "code",
                      .keys = {{"command", program + " {source}"},
                               {"language", "bash"},
                               {"workers", 1},
                               {"waive_layers", waived_layers()}}};
  for (const char* language : {"bash", "own"}) {
    config.keys["language"] = language;
    const std::string message = message_of<ConfigError>([&] { make_reward(config); });
    EXPECT_NE(message.find("No such file"), std::string::npos) << message;
    EXPECT_NE(message.find("`runtime`"), std::string::npos) << message;
  }
  config.keys["language"] = "bash";
  config.keys["runtime"] = folder.path().string();
  config.keys["command"] = program + " {source}";
  const auto reward = make_reward(config);
  // Taken away later it is ours, not the program's: no score.
  std::filesystem::remove(program);
  const Json tests = {{{"stdin", ""}, {"stdout", ""}}, {{"stdin", ""}, {"stdout", ""}}};
  const RewardResult result =
      reward->score(make_prompt({{"tests", tests}}), make_completion("```bash\n:\n```"));
  EXPECT_EQ(brief(result), "0 sandbox_error");
  EXPECT_NE(result.detail.find("rows.jsonl:5"), std::string::npos) << result.detail;
  EXPECT_NE(result.detail.find("No such file"), std::string::npos) << result.detail;
}

// Below /tmp, through a link, and as a relative path.
TEST(CodeReward, ModulesOfTheRuntimeAreFound) {
  TemporaryDirectory folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::create_directory(folder.path() / "real");
  write_text(folder.path() / "real" / "some_module.py", "X = 4711\n");
  std::filesystem::create_directory_symlink(folder.path() / "real", folder.path() / "link");
  const Json tests = {{{"stdin", ""}, {"stdout", "4711"}}};
  for (const std::filesystem::path& path :
       {folder.path() / "real", folder.path() / "link", std::filesystem::proximate(folder.path() / "link")}) {
    const auto reward = make_reward(
        {.name = "code",
         .keys = {{"workers", 1}, {"runtime", path.string()}, {"waive_layers", waived_layers()}}});
    const RewardResult result =
        reward->score(make_prompt({{"tests", tests}}),
                      make_completion("```python\nimport some_module\nprint(some_module.X)\n```"));
    EXPECT_EQ(brief(result), "1 ok") << path << ": " << result.detail;
  }
}

TEST(CodeReward, ALargeProgramIsTheCompletionsFault) {
  const auto reward = make_reward(
      {.name = "code", .keys = {{"language", "c"}, {"workers", 1}, {"waive_layers", waived_layers()}}});
  const Json tests = {{{"stdin", ""}, {"stdout", "1"}}};
  const RewardResult result = reward->score(
      make_prompt({{"tests", tests}}),
      make_completion("```c\n#include <stdio.h>\nchar a[20 << 20] = {1};\nint main() { puts(\"1\"); }\n```"));
  EXPECT_EQ(brief(result), "0 ok");
  EXPECT_EQ(result.detail, "does not compile: the program is larger than 16 MiB");
}

// Values that the comparison outside decides: nothing of it is left to the program.
TEST(CodeReward, LongIntegersAndHalfPairsArriveAsTheyAre) {
  const auto reward =
      make_reward({.name = "code", .keys = {{"workers", 1}, {"waive_layers", waived_layers()}}});
  const auto score = [&](const std::string& body, const Json& tests) {
    return reward->score(make_prompt({{"tests", tests}}),
                         make_completion("```python\ndef f(n): return " + body + "\n```"));
  };
  const char* long_tests =
      R"([{"call": "f", "args": [100000000000000000000], "expected": 100000000000000000001}])";
  EXPECT_EQ(brief(score("n + 1", long_tests)), "1 ok");
  EXPECT_EQ(brief(score("n", long_tests)), "0 ok");
  const Json infinite = {
      {{"call", "f"}, {"args", {{{"$float", "inf"}}}}, {"expected", {{"$float", "-inf"}}}}};
  EXPECT_EQ(brief(score("-n", infinite)), "1 ok");
  const RewardResult half = score("'\\ud800'", {"assert f(1) == 'x'"});
  EXPECT_EQ(brief(half), "0 ok");
  EXPECT_NE(half.detail.find("surrogate"), std::string::npos) << half.detail;
}

// The driver writes each item as {"i": "12345"}, and each of these letters as \u00e4.
TEST(CodeReward, ALargeRightValueIsRight) {
  const auto reward = make_reward(
      {.name = "code", .keys = {{"timeout_s", 60.0}, {"workers", 1}, {"waive_layers", waived_layers()}}});
  const auto score = [&](const std::string& body, const Json& expected) {
    const Json tests = {{{"call", "f"}, {"expected", expected}}};
    return reward->score(make_prompt({{"tests", tests}}),
                         make_completion("```python\ndef f(): return " + body + "\n```"));
  };
  Json numbers = Json::array();
  for (int i = 0; i < 100000; ++i) numbers.push_back(i);
  for (const char* body : {"list(range(100000))", "[float(i) for i in range(100000)]"}) {
    const RewardResult result = score(body, numbers);
    EXPECT_EQ(brief(result), "1 ok") << result.detail;
  }
  std::string letters;
  for (int i = 0; i < 300000; ++i) letters += "\xc3\xa4";
  const RewardResult result = score("'\xc3\xa4' * 300000", letters);
  EXPECT_EQ(brief(result), "1 ok") << result.detail;
  EXPECT_EQ(brief(score("[1] * 1000000", 1)), "0 ok");
}

// Its tests' inputs and its compiled self are not what a program uses.
TEST(CodeReward, WhatATestBringsAlongIsNotTheProgramsMemory) {
  if (!is_full()) GTEST_SKIP() << "needs control groups";
  const auto python =
      make_reward({.name = "code", .keys = {{"timeout_s", 20.0}, {"memory_mb", 64}, {"workers", 1}}});
  const Json tests = {{{"stdin", std::string(48 << 20, 'x')}, {"stdout", "1"}}};
  const RewardResult unread = python->score(
      make_prompt({{"tests", tests}}), make_completion("```python\nx = b'1' * (40 << 20)\nprint(1)\n```"));
  EXPECT_EQ(brief(unread), "1 ok") << unread.detail;
  const RewardResult large = python->score(
      make_prompt({{"tests", tests}}), make_completion("```python\nx = b'1' * (80 << 20)\nprint(1)\n```"));
  EXPECT_EQ(large.detail, "0 of 1 tests passed; test 1: more than 64 MiB of memory");
  const auto c = make_reward(
      {.name = "code", .keys = {{"timeout_s", 20.0}, {"language", "c"}, {"memory_mb", 16}, {"workers", 1}}});
  const Json nothing = {{{"stdin", ""}, {"stdout", "1"}}};
  const RewardResult program = c->score(
      make_prompt({{"tests", nothing}}),
      make_completion("```c\n#include <stdio.h>\nchar a[15 << 20] = {1};\nint main() { puts(\"1\"); }\n```"));
  EXPECT_EQ(brief(program), "1 ok") << program.detail;
}

TEST(CodeReward, RefusesSettings) {
  EXPECT_THROW(make_reward({.name = "code", .keys = {{"timeout_s", 0.0}}}), ConfigError);
  EXPECT_THROW(make_reward({.name = "code", .keys = {{"memory_mb", 1}}}), ConfigError);
  EXPECT_THROW(make_reward({.name = "format", .keys = {{"memory_mb", 100}}}), ConfigError);
  EXPECT_THROW(make_reward({.name = "format", .keys = {{"language", "python"}}}), ConfigError);
  const std::string message =
      message_of<ConfigError>([] { make_reward({.name = "code", .keys = {{"language", "pyhton"}}}); });
  EXPECT_NE(message.find("\"python\""), std::string::npos) << message;
  EXPECT_THROW(make_reward({.name = "code",
                            .keys = {{"command", std::vector<std::string>{"/no/such/python", "{source}"}}}}),
               ConfigError);
}

TEST(CodeReward, RefusesSettingsThatWouldBecomeZeros) {
  const auto message = [](const RewardConfig& config) {
    return message_of<ConfigError>([&] { make_reward(config); });
  };
  for (const char* path : {"/no/such/folder", "/", "/etc", "/proc/self", "/sys"}) {
    const std::string text = message({.name = "code", .keys = {{"runtime", path}}});
    EXPECT_NE(text.find(str("`runtime` names \"", path, "\"")), std::string::npos) << text;
  }
  const std::pair<RewardConfig, const char*> without_files[] = {
      {{.name = "code", .keys = {{"command", "python3 -S -B"}}}, "`command` does not say where {source}"},
      {{.name = "code", .keys = {{"command", "true"}, {"language", "c"}}},
       "`command` does not say where {program}"},
      {{.name = "code", .keys = {{"language", "c"}, {"compile", "gcc {source}"}}},
       "`compile` does not say where {program}"},
      {{.name = "code", .keys = {{"language", "c"}, {"compile", "gcc -o {program}"}}},
       "`compile` does not say where {source}"}};
  for (const auto& [config, expected] : without_files) {
    const std::string text = message(config);
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  }
  const std::string layer = message({.name = "code", .keys = {{"waive_layers", "memroy"}}});
  EXPECT_NE(layer.find("did you mean \"memory\"?"), std::string::npos) << layer;
}

}  // namespace
}  // namespace cohort
