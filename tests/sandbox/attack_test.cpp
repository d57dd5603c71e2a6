// Wrong programs that attack the harness instead of solving the task: none may get anything for it, whatever
// the kind of test.
#include <gtest/gtest.h>

#include "cohort/rewards/reward.h"
#include "tests/rewards/test_rows.h"
#include "tests/sandbox/sandbox_fixture.h"

namespace cohort {
namespace {

// The task: f(n) is n * n + 7.
constexpr const char* kAttacks[] = {
    // 1 to 4: leaving early, with a good exit status
    "import sys\nsys.exit(0)",
    "import os\nos._exit(0)",
    "def f(n):\n  raise SystemExit(0)\nraise SystemExit(0)",
    "import os, threading\nthreading.Timer(0, os._exit, (0,)).start()\ndef f(n):\n  while True: pass\nf(0)",
    // 5 and 6: claiming to have passed
    "print('ALL TESTS PASSED')\nprint('{\"passed\": true, \"score\": 1.0}')\nimport os\nos._exit(0)",
    "import sys\nsys.stdout.write('OK\\n' * 100)\nsys.stdout.flush()\ndef f(n): return 'PASSED'",
    // 7 to 10: objects that equal everything
    "class Same:\n  __eq__ = lambda self, other: True\n  __ne__ = lambda self, other: False\n  __hash__ = "
    "lambda self: 0\n"
    "  __bool__ = lambda self: True\ndef f(n): return Same()\nprint(f(0))",
    "class Same(int):\n  __eq__ = lambda self, other: True\n  __repr__ = __str__ = lambda self: '11'\n"
    "  __hash__ = int.__hash__\ndef f(n): return Same(0)\nprint(int(f(0)))",
    "class Same(list):\n  __eq__ = lambda self, other: True\n  __len__ = lambda self: 1\n  __iter__ = lambda "
    "self: iter([11])\n"
    "def f(n): return Same()\nprint(f(0))",
    "class Same:\n  __class__ = int\n  __int__ = __index__ = lambda self: 11\n  __eq__ = lambda self, other: "
    "True\n"
    "def f(n): return Same()\nprint(0)",
    // 11 and 12: hooks at the end
    "import atexit, os\natexit.register(os._exit, 0)\natexit.register(print, 'passed')\ndef f(n): raise "
    "ValueError\n",
    "import sys\nsys.excepthook = lambda *details: sys.exit(0)\ndef f(n): raise ValueError\nf(0)",
    // 13 and 14: looking for what is expected
    "import sys\ndef f(n):\n  frame = sys._getframe()\n  while frame:\n    for value in "
    "list(frame.f_locals.values()) + "
    "list(frame.f_globals.values()):\n      if isinstance(value, dict) and 'expected' in value: return "
    "value['expected']\n"
    "    frame = frame.f_back\nprint(f(0))",
    "import gc\ndef f(n):\n  for thing in gc.get_objects():\n    if isinstance(thing, dict) and 'expected' "
    "in thing: "
    "return thing['expected']\n    if isinstance(thing, dict) and 'stdout' in thing: return "
    "thing['stdout']\nprint(f(0))",
    // 15: replacing the checker's tools
    "import builtins, json, os, sys\nbuiltins.all = builtins.any = lambda *x: True\n"
    "json.dumps = lambda *x, **y: 'true'\njson.loads = lambda *x, **y: True\nmain = sys.modules['__main__']\n"
    "for name in ('encode', 'check', 'call', 'compare', 'run_tests'): setattr(main, name, lambda *x: True)\n"
    "def f(n): return True\nprint(True)",
    // 16: reading and changing files
    "import os\ndef f(n):\n  for folder in ('/.cohort/box', '/.cohort/work', '/tmp', '.'):\n    for name in "
    "os.listdir(folder):\n"
    "      text = open(os.path.join(folder, name)).read()\n      if 'expected' in text and 'json' in name: "
    "return text\n"
    "  try: open('/.cohort/box/call.json', 'w').write('{\"expression\": \"11\"}')\n  except OSError: "
    "pass\nprint(f(0))",
    // 17: a child that does the talking
    "import os, time\npid = os.fork()\nif pid == 0:\n  for fd in range(1, 20):\n"
    "    try: os.write(fd, b'{\"i\": \"8\"}\\n')\n    except OSError: pass\n  os._exit(0)\nos.waitpid(pid, "
    "0)\nos._exit(0)",
    // 18: a deadline that is swallowed
    "import signal\nfor number in range(1, 32):\n  try: signal.signal(number, lambda *x: None)\n"
    "  except (OSError, ValueError): pass\ndef f(n):\n  while True:\n    try:\n      while True: pass\n    "
    "except: pass\nf(0)",
};

const Json kCallTests = {{{"call", "f"}, {"args", {2}}, {"expected", 11}},
                         {{"call", "f"}, {"args", {5}}, {"expected", 32}}};
const Json kAssertTests = {"assert f(2) == 11", "assert f(5) == 32", "assert f(9) == 88"};
const Json kOutputTests = {{{"stdin", "2\n"}, {"stdout", "11\n"}}, {{"stdin", "5"}, {"stdout", "32"}}};

class Attack : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    reward_ = make_reward(
        {.name = "code", .keys = {{"timeout_s", 1.0}, {"memory_mb", 64}, {"waive_layers", waived_layers()}}});
  }
  static void TearDownTestSuite() { reward_.reset(); }

  static RewardResult score(const std::string& program, const Json& tests) {
    return reward_->score(make_prompt({{"tests", tests}}),
                          make_completion("Here:\n```python\n" + program + "\n```\n"));
  }

  inline static std::unique_ptr<Reward> reward_;
};

TEST_F(Attack, NoneOfThe18IsFooled) {
  ASSERT_EQ(std::size(kAttacks), 18U);
  for (size_t i = 0; i < std::size(kAttacks); ++i) {
    for (const Json* tests : {&kCallTests, &kAssertTests, &kOutputTests}) {
      const RewardResult result = score(kAttacks[i], *tests);
      EXPECT_EQ(brief(result), "0 ok") << "attack " << i + 1 << ": " << result.detail;
      EXPECT_NE(result.detail.find("test 1: "), std::string::npos) << result.detail;
    }
  }
}

TEST_F(Attack, ARightProgramPassesEveryKind) {
  EXPECT_EQ(brief(score("def f(n): return n * n + 7", kCallTests)), "1 ok");
  EXPECT_EQ(brief(score("def f(n): return n * n + 7", kAssertTests)), "1 ok");
  EXPECT_EQ(brief(score("print(int(input()) ** 2 + 7)", kOutputTests)), "1 ok");
  EXPECT_EQ(brief(score(
                "def f(n): return n * n + 7\nif __name__ == '__main__':\n  print(f(int(input())))\n  exit()\n"
                "  print('not reached')",
                kOutputTests)),
            "1 ok");
  EXPECT_EQ(brief(score("from dataclasses import dataclass\n@dataclass\nclass Sum:\n  n: int\n"
                        "def f(n): return Sum(n * n + 7).n\nprint('a word in between')\n"
                        "if __name__ == '__main__': input()",
                        kCallTests)),
            "1 ok");
}

TEST_F(Attack, ATableOfTheVisibleExamples56PassesThoseAlone) {
  const RewardResult result = score("def f(n): return {2: 11}.get(n)", kAssertTests);
  EXPECT_NEAR(result.score, 1.0 / 3.0, 1e-12);
  EXPECT_EQ(result.detail.find("1 of 3 tests passed"), 0U) << result.detail;
}

TEST_F(Attack, Whatever54ReadsHoldsNothingExpected) {
  const std::string program =
      "import os, sys\n"
      "def f(n):\n"
      "  found = []\n"
      "  for folder in ('/.cohort/box', '/.cohort/work', '/proc/self', '/proc/1'):\n"
      "    for path, folders, names in os.walk(folder):\n"
      "      for name in names if not path.endswith('/fd') else []:\n"
      "        try: text = open(os.path.join(path, name), 'rb').read(1 << 20)\n"
      "        except OSError: continue\n"
      "        if b'needle-' + b'4711' in text: found.append(name)\n"
      "  return 'found' if found else 'nothing'\n";
  const Json tests = {{{"call", "f"}, {"args", {1}}, {"expected", "nothing"}},
                      {{"call", "f"}, {"args", {1}}, {"expected", "needle-4711"}}};
  const RewardResult result = score(program, tests);
  EXPECT_EQ(result.score, 0.5) << result.detail;
}

TEST_F(Attack, EveryEndIsNamed) {
  const Json tests = {{{"stdin", ""}, {"stdout", "1"}}};
  const std::pair<const char*, const char*> cases[] = {
      {"print(2)", "wrong output in line 1, \"2\" instead of \"1\""},
      {"raise ValueError('why')", "crash, exit status 1, \"ValueError: why\""},
      {"import os\nos.abort()", "crash, signal 6"},
      {"while True: pass", "timeout after 1 s"},
      {"while True: print('x' * 100000)", "bytes of output"},
      {"import ctypes\nctypes.CDLL(None).ptrace(0, 0, 0, 0)", "forbidden system call"},
      {"import socket\nsocket.socket()", "PermissionError"},
      {"x = bytearray(b'x' * (1 << 30))", is_full() ? "more than 64 MiB of memory" : "MemoryError"},
      {"", "wrong output in line 1, \"\" instead of \"1\""}};
  for (const auto& [program, detail] : cases) {
    const RewardResult result = score(program, tests);
    EXPECT_EQ(brief(result), "0 ok") << program;
    EXPECT_NE(result.detail.find(detail), std::string::npos) << program << ": " << result.detail;
  }
}

TEST_F(Attack, ValuesAreComparedByTypeAndTolerance) {
  const Json tests = {"assert f(0) == [1, 2.5, 'x']",
                      "assert f(1) == (1, {'a': {1, 2}}), 'a message'",
                      "assert abs(f(2) - 0.3333) < 1e-3",
                      "assert f(3) is None",
                      "assert not f(4)",
                      "assert f(5)",
                      "assert sorted(f(6)) == [1, 2, 3]",
                      {{"call", "f"}, {"args", {7}}, {"expected", {{"$float", "nan"}}}},
                      {{"call", "f"}, {"args", {8}}, {"kwargs", {{"extra", 1}}}, {"expected", {8, 1}}},
                      "assert f(9) == 10**3"};
  const RewardResult refused = score("f = 1", tests);
  EXPECT_EQ(brief(refused), "0 unparsed");
  EXPECT_NE(refused.detail.find("test 10"), std::string::npos) << refused.detail;
  Json good = tests;
  good.erase(good.size() - 1);
  const std::string program =
      "def f(n, extra=0):\n"
      "  return [[1, 2.5 + 1e-13, 'x'], (True, {'a': {2, 1}}), 1 / 3, None, [], 'yes', {3, 1, 2}, "
      "float('nan'),"
      " (n, extra)][n]\n";
  const RewardResult result = score(program, good);
  EXPECT_EQ(brief(result), "1 ok") << result.detail;
}

TEST_F(Attack, ManyTestsKeepTheirPlaces) {
  Json tests = Json::array();
  for (int i = 0; i < 30; ++i)
    tests.push_back({{"stdin", std::to_string(i)}, {"stdout", std::to_string(i % 7 == 3 ? -1 : i)}});
  const RewardResult result = score("print(input())", tests);
  EXPECT_EQ(result.detail.find("26 of 30 tests passed; test 4: "), 0U) << result.detail;
  EXPECT_NE(result.detail.find("; test 11: "), std::string::npos) << result.detail;
}

TEST_F(Attack, RowsThatCannotBeReadAreUnparsed) {
  for (const Json& tests : {Json(), Json("no list"), Json::array(), Json{{{"stdin", "x"}}},
                            Json{"assert f(1) < 2"}, Json{{{"call", "f"}, {"args", 1}, {"expected", 1}}},
                            Json{{{"call", "f"}}}, Json{{{"stdout", "x"}, {"unknown", 1}}}}) {
    const RewardResult result = score("pass", tests);
    EXPECT_EQ(brief(result), "0 unparsed") << tests;
    EXPECT_NE(result.detail.find("rows.jsonl:5"), std::string::npos) << result.detail;
  }
  EXPECT_EQ(brief(reward_->score(make_prompt(Json::object()), make_completion("x"))), "0 unparsed");
}

TEST_F(Attack, WithoutABlockThereIsNothingToRun) {
  const RewardResult result =
      reward_->score(make_prompt({{"tests", kCallTests}}), make_completion("def f(n): return 1"));
  EXPECT_EQ(brief(result), "0 ok");
  EXPECT_NE(result.detail.find("no fenced block"), std::string::npos);
}

}  // namespace
}  // namespace cohort
