// Each way in which a program can fail for one completion of many: that one is masked, and no other gets a
// reward that is not its own.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <iterator>
#include <set>
#include <sstream>

#include "cohort/rewards/reward_scorer.h"
#include "tests/rewards/programs.h"
#include "tests/rewards/test_rows.h"

namespace cohort {
namespace {

struct Failure {
  const char* name;
  const char* body;  ///< `fail(request, line)`: instead of sending `line`, the right answer
  const char* status = "error";
  bool spoils_batch = true;  ///< whether the rows beside the bad one may fail with it
  double timeout_s = 60.0;
};

// The scores of good completions are the numbers that they are.
constexpr const char* kProgram = R"(
def rewards(request):
    return [{"id": row["id"], "score": 99 if row["completion"] == "bad" else int(row["completion"])}
            for row in request["rows"]]
def change(request, reward):
    list = rewards(request)
    for place, row in enumerate(request["rows"]):
        if row["completion"] == "bad": list[place] = reward(row["id"])
    send(json.dumps({"id": request["id"], "rewards": [entry for entry in list if entry]}) + "\n")
def answer(request):
    texts = [row["completion"] for row in request["rows"]]
    note("seen", " ".join(texts))
    line = json.dumps({"id": request["id"], "rewards": rewards(request)}) + "\n"
    if "bad" in texts: fail(request, line)
    else: send(line)
)";

const Failure kFailures[] = {
    {"throws", "def fail(request, line): raise ValueError('no')"},
    {"exits", "def fail(request, line): os._exit(0)"},
    {"aborts", "def fail(request, line): os.abort()"},
    {"hangs", "def fail(request, line): time.sleep(1000)", "timeout", true, 3.0},
    {"hangs_and_ignores_signals",
     "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\n"
     "def fail(request, line): time.sleep(1000)",
     "timeout", true, 3.0},
    {"spins", "def fail(request, line):\n  while True: pass", "timeout", true, 3.0},
    {"is_late", "def fail(request, line):\n  time.sleep(6)\n  send(line)", "timeout", true, 3.0},
    {"returns_nan", "def fail(request, line): change(request, lambda id: {'id': id, 'score': float('nan')})",
     "error", false},
    {"returns_infinity", "def fail(request, line): change(request, lambda id: {'id': id, 'score': 1e999})",
     "error", false},
    {"returns_text", "def fail(request, line): change(request, lambda id: {'id': id, 'score': '1'})", "error",
     false},
    {"returns_nothing", "def fail(request, line): change(request, lambda id: None)", "error", false},
    {"returns_a_row_twice",
     "def fail(request, line):\n"
     "  id = [row['id'] for row in request['rows'] if row['completion'] == 'bad'][0]\n"
     "  request['rows'] += [{'id': id, 'completion': 'bad'}]\n"
     "  send(json.dumps({'id': request['id'], 'rewards': rewards(request)}) + '\\n')",
     "error", false},
    {"returns_an_unknown_row",
     "def fail(request, line): change(request, lambda id: {'id': 'x' + id, 'score': 1})"},
    {"returns_another_request",
     "def fail(request, line): send(line.replace(request['id'], 'b0' + request['id']))"},
    {"prints_a_gigabyte", "def fail(request, line):\n  for i in range(1000): send('x' * 1000000)"},
    {"prints_lines_for_ever", "def fail(request, line):\n  while True: send('so far so good\\n')"},
    {"nests", "def fail(request, line): send('[' * 500000 + ']' * 500000 + '\\n')"},
    {"sends_half_a_line", "def fail(request, line):\n  send(line[:-5])\n  os._exit(1)"},
    {"sends_bytes", "def fail(request, line): sys.stdout.buffer.write(b'\\xff\\x00\\n'); sys.stdout.flush()"},
    {"closes_its_output", "def fail(request, line):\n  os.close(1)\n  time.sleep(1000)"},
    {"sends_two_lines", "def fail(request, line): send(line + line)"},
    {"sends_noise_first",
     "def fail(request, line):\n  send('thinking...\\n')\n  time.sleep(0.2)\n  send(line)"},
    {"answers_the_next_request",
     "def fail(request, line):\n  next = 'b%d' % (int(request['id'][1:]) + 1)\n"
     "  send(line.replace(request['id'], next))"},
    {"leaves_a_child_with_its_pipes",
     "def fail(request, line):\n  subprocess.Popen(['sleep', '1000'])\n  os._exit(1)"},
};

class ProgramFailures : public testing::TestWithParam<Failure> {};

TEST_P(ProgramFailures, MaskTheRowsConcernedAndNoOther) {
  const Failure& failure = GetParam();
  const Program program(str(failure.body, kProgram));
  constexpr int64_t kNumGroups = 4, kGroupSize = 8;
  const auto text_of = [](int64_t index) {
    return index == 5 || index == 21 ? std::string("bad") : str(index);
  };
  {
    RewardScorer scorer({{.name = "mine",
                          .type = "command",
                          .keys = {{"command", program.command()},
                                   {"timeout_s", failure.timeout_s},
                                   {"workers", 2},
                                   {"batch_size", 3}}}});
    for (int64_t i = 0; i < kNumGroups * kGroupSize; ++i)
      scorer.submit(i / kGroupSize, i % kGroupSize, make_prompt({}), make_completion(text_of(i)));
    std::vector<RewardResult> results;
    for (int64_t group = 0; group < kNumGroups; ++group) {
      const auto rewards = scorer.take(group);
      for (int64_t sample = 0; sample < kGroupSize; ++sample) results.push_back(rewards[sample][0]);
    }
    std::set<std::string> beside_bad;  // the good ones that were asked about in one request with a bad one
    for (const std::string& line : program.notes("seen")) {
      if (line.find("bad") == std::string::npos) continue;
      std::istringstream texts(line);
      beside_bad.insert(std::istream_iterator<std::string>(texts), {});
    }
    EXPECT_TRUE(beside_bad.contains("bad"));
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string text = text_of(static_cast<int64_t>(i));
      const bool is_masked = text == "bad" || (failure.spoils_batch && beside_bad.contains(text));
      const std::string failed = str("0 ", failure.status), scored = str(i, " ok");
      EXPECT_EQ(brief(results[i]), is_masked ? failed : scored) << text << ": " << results[i].detail;
      EXPECT_TRUE(!is_masked || results[i].detail.starts_with("rows.jsonl:5: ")) << results[i].detail;
    }
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

INSTANTIATE_TEST_SUITE_P(All, ProgramFailures, testing::ValuesIn(kFailures),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cohort
