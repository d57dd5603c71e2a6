// Python and a shell in the sandbox as tools: state between calls, every limit, and nothing left behind.
#include "cohort/env/session_tool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "cohort/core/error.h"
#include "cohort/env/environment_config.h"
#include "tests/core/test_files.h"
#include "tests/env/replies.h"

namespace cohort {
namespace {

using std::chrono::steady_clock;

/// The layers to waive here: an ordinary user may not bound memory.
std::vector<std::string> waived() {
  static const bool is_root = geteuid() == 0;
  return is_root ? std::vector<std::string>{} : std::vector<std::string>{"memory"};
}

ToolConfig config_of(const std::string& type) { return {.type = type, .waive_layers = waived()}; }

/// A tool of one kind with calls that are written shortly.
class Session {
 public:
  explicit Session(const ToolConfig& config)
      : argument_(config.type == "bash" ? "command" : "code"), tool_(make_session_tool(config)) {}

  ToolResult result(const std::string& request, int64_t episode = 1) {
    return tool_->call({{argument_, request}}, episode);
  }

  std::string operator()(const std::string& request, int64_t episode = 1) {
    const ToolResult made = result(request, episode);
    return (made.is_error ? "error: " : "") + made.content;
  }

  Tool& tool() { return *tool_; }

 private:
  const char* argument_;
  std::unique_ptr<Tool> tool_;
};

int count_processes(const std::string& token) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ostringstream line;
    line << std::ifstream(entry.path() / "cmdline").rdbuf();
    count += line.view().find(token) != std::string_view::npos;
  }
  return count;
}

bool becomes(int count, const std::string& token) {
  for (int i = 0; i < 1000; ++i) {
    if (count_processes(token) == count) return true;
    usleep(10'000);
  }
  return false;
}

constexpr const char* kOver = "; the session is over, and the next call begins a new one";
constexpr const char* kNote = "(a new session: the variables and files of earlier calls are gone)\n";

TEST(CodeInterpreter, PrintsAndGivesTheLastValue) {
  Session python(config_of("code_interpreter"));
  EXPECT_EQ(python("print('hi')"), "hi");
  EXPECT_EQ(python("x = 3\nx + 1"), "4");
  EXPECT_EQ(python("print('a'); 'b'"), "a\n'b'");
  EXPECT_EQ(python("None"), "");
  EXPECT_EQ(python(""), "");
  EXPECT_EQ(python("import sys\nprint('warned', file=sys.stderr)"), "warned");
  EXPECT_EQ(python("import subprocess\nsubprocess.run([sys.executable, '-S', '-c', 'print(5)']).returncode"),
            "5\n0");
  EXPECT_EQ(python("'héllo ' + chr(0x1F600)"), "'héllo \U0001F600'");
}

TEST(CodeInterpreter, KeepsItsStateWithinAnEpisode) {
  Session python(config_of("code_interpreter"));
  python("import math\ndef f(n):\n  return math.factorial(n)\nopen('note', 'w').write('kept')", 1);
  EXPECT_EQ(python("f(5), open('note').read()", 1), "(120, 'kept')");
  EXPECT_NE(python("f(5)", 2).find("NameError: name 'f' is not defined"), std::string::npos);
  EXPECT_NE(python("open('note')", 2).find("FileNotFoundError"), std::string::npos);
  python.tool().end(1);
  EXPECT_NE(python("f(5)", 1).find("NameError"), std::string::npos);
}

TEST(CodeInterpreter, ShowsTracebacksOfTheCodeAlone) {
  Session python(config_of("code_interpreter"));
  python("def f(n):\n    return 1 / n\n");
  const std::string text = python("f(0)");
  EXPECT_TRUE(text.starts_with(
      "Traceback (most recent call last):\n  File \"<cell 2>\", line 1, in <module>\n    f(0)"))
      << text;
  EXPECT_NE(text.find("File \"<cell 1>\", line 2, in f\n    return 1 / n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("ZeroDivisionError: division by zero")) << text;
  EXPECT_EQ(text.find("session.py"), std::string::npos) << text;
  EXPECT_TRUE(python("1 +").ends_with("SyntaxError: invalid syntax"));
  EXPECT_EQ(python("exit(3)"), "SystemExit: 3");
  EXPECT_TRUE(python("input()").ends_with("EOFError: EOF when reading a line"));
  EXPECT_EQ(python("f(2)"), "0.5");
}

TEST(CodeInterpreter, RepeatsItsBytes) {
  std::string first;
  for (int i = 0; i < 2; ++i) {
    Session python(config_of("code_interpreter"));
    std::string text = python("object(), {'a', 'b', 'c'}, id(len), hash('x')");
    text += python("import os\nos.getcwd(), os.environ['HOME'], os.getpid(), sorted(os.environ)");
    text += python("def f(): pass\nf");
    if (i == 0) first = text;
    EXPECT_EQ(text, first);
  }
}

TEST(CodeInterpreter, EndsASessionThatExceedsALimit) {
  ToolConfig config = config_of("code_interpreter");
  config.timeout_s = 3.0;
  Session python(config);
  const auto began = steady_clock::now();
  EXPECT_EQ(python("x = 1\nwhile True: pass"), str("error: no result within 3 s", kOver));
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_EQ(python("'x' in globals()"), str(kNote, "False"));
  EXPECT_EQ(python("2"), "2");  // the note comes once
  EXPECT_EQ(python("import os\nos._exit(3)"), str("error: crash, exit status 3", kOver));
  EXPECT_EQ(python("while True: print('x' * 1000)"), str("error: more than 1048576 bytes of output", kOver));
  EXPECT_EQ(python("import os\nos.kill(os.getpid(), 11)"),
            str("error: crash, signal 11 (Segmentation fault)", kOver));
  EXPECT_EQ(python("import os\nos.write(3, b'done\\ndone\\n')"),
            str("error: the code wrote to the session's own channel", kOver));
  EXPECT_EQ(python("import os\nos.write(3, b'x')"),
            str("error: the code wrote to the session's own channel", kOver));
  EXPECT_EQ(python("a\0b" + std::string(1, '\0')), "error: the code holds a NUL character");
  EXPECT_EQ(python("'still here'"), str(kNote, "'still here'"));
}

TEST(CodeInterpreter, BoundsItsMemory) {
  ToolConfig config = config_of("code_interpreter");
  config.memory_mb = 64;
  config.timeout_s = 50.0;
  Session python(config);
  const std::string text = python("x = [bytes(40 << 20), b'x' * (40 << 20), b'y' * (80 << 20)]");
  EXPECT_TRUE(text == str("error: more than 64 MiB of memory", kOver) || text.ends_with("MemoryError"))
      << text;
}

TEST(CodeInterpreter, SurvivesCodeThatMeddlesWithIt) {
  Session python(config_of("code_interpreter"));
  EXPECT_EQ(python("import sys\nsys.stdout.close()\nsys.stderr = None"), "");
  EXPECT_EQ(python("print('still here')"), "still here");
  EXPECT_EQ(python("import os\nif os.fork() == 0: pass\nelse: os.wait()\nNone"), "");
  EXPECT_EQ(python("import builtins\nbuiltins.repr = None\n'x'")
                .ends_with("TypeError: 'NoneType' object is not callable"),
            true);
  EXPECT_TRUE(python("import socket\nsocket.create_connection(('1.1.1.1', 53), 1)").find("Error") !=
              std::string::npos);
  EXPECT_TRUE(python("open('/etc/passwd')").ends_with("No such file or directory: '/etc/passwd'"));
  EXPECT_TRUE(python("open('/usr/bin/new', 'w')").find("Error") != std::string::npos);
}

TEST(CodeInterpreter, CutsALongOutput) {
  ToolConfig config = config_of("code_interpreter");
  config.max_output_length = 20;
  Session python(config);
  EXPECT_EQ(python("print('a' * 10 + 'é' * 30 + 'z' * 10)"),
            "aaaaaaaaaa\n... 30 characters are left out ...\nzzzzzzzzzz");
  EXPECT_EQ(python("print('a' * 20)"), std::string(20, 'a'));
}

TEST(ShortenedOutput, CountsCharactersAndReplacesWhatIsNoText) {
  EXPECT_EQ(shortened_output("ab\n", 16), "ab");
  EXPECT_EQ(shortened_output("a\xff", 16), "a\uFFFD");
  EXPECT_EQ(shortened_output("éééé", 4), "éééé");
  EXPECT_EQ(shortened_output("éaaab", 3), "éa\n... 2 characters are left out ...\nb");
}

TEST(Bash, KeepsFolderVariablesAndFiles) {
  Session bash(config_of("bash"));
  EXPECT_EQ(bash("echo hi | tr h H; mkdir sub; cd sub; export X=5; echo kept > note"), "Hi");
  EXPECT_EQ(bash("pwd; echo $X; cat note"), "/.cohort/work/sub\n5\nkept");
  EXPECT_EQ(bash("ls; echo $X", 2), "");
  EXPECT_EQ(bash("false"), "(exit status 1)");
  EXPECT_EQ(bash("nothing-of-the-kind"),
            "bash: line 1: nothing-of-the-kind: command not found\n(exit status 127)");
  EXPECT_EQ(bash("exit 7"), "(exit status 7; a new shell begins, with the same files)");
  EXPECT_EQ(bash("cat sub/note"), "kept");
  EXPECT_TRUE(bash("if").ends_with("unexpected end of file\n(exit status 2)"));
  EXPECT_EQ(bash("cat; read line"), "(exit status 1)");
  EXPECT_EQ(bash("touch /usr/new 2> /dev/null || echo refused"), "refused");
}

TEST(Bash, EndsASessionThatHangs) {
  ToolConfig config = config_of("bash");
  config.timeout_s = 3.0;
  Session bash(config);
  EXPECT_EQ(bash("echo kept > note; sleep 100"), str("error: no result within 3 s", kOver));
  EXPECT_EQ(bash("ls"), std::string(kNote));
  EXPECT_EQ(bash("sleep 100 & echo in the background"), "in the background");
}

TEST(SessionTool, LeavesNothingBehind) {
  const std::string token = str("94613", getpid());  // an argument of sleep
  const auto sleeper = [&] { return "sleep " + token + " & sleep " + token + " & echo on"; };
  {
    Session bash(config_of("bash"));
    EXPECT_EQ(bash(sleeper(), 1), "on");
    EXPECT_EQ(bash(sleeper(), 2), "on");
    EXPECT_TRUE(becomes(4, token));
    bash.tool().end(1);
    EXPECT_TRUE(becomes(2, token));
  }
  EXPECT_TRUE(becomes(0, token));
}

TEST(SessionTool, AnEpisodeThatIsDroppedTakesItsSessionAlong) {
  const std::string token = str("84613", getpid());
  const auto environment = make_environment({}, {config_of("bash")});
  auto episode = std::move(environment->begin({{}}).front().episode);
  const auto turn_of = [&](const std::string& command) {
    return AssistantMessage{.content = "",
                            .tool_calls = {{.name = "bash", .arguments = {{"command", command}}}}};
  };
  EXPECT_EQ(reply_to(*episode, turn_of("sleep " + token + " & echo on")).messages[0].at("content"), "on");
  EXPECT_TRUE(becomes(1, token));
  // In the middle of a call, whose turn has another one after it.
  AssistantMessage turn = turn_of("sleep 2");
  turn.tool_calls.push_back(turn_of("sleep " + token).tool_calls[0]);
  episode->respond(turn, false, [] {}, [](Reply) {});
  usleep(500'000);
  episode.reset();
  EXPECT_TRUE(becomes(0, token));
  sleep(2);
  EXPECT_EQ(count_processes(token), 0);
}

TEST(SessionTool, AProgramThatIsKilledTakesItsSessionsAlong) {
  const std::string token = str("74613", getpid());
  const pid_t trainer = fork();
  if (trainer == 0) {
    Session bash(config_of("bash"));
    bash("sleep " + token + " & (setsid sleep " + token + " &)");
    bash("sleep 100");
    _exit(0);
  }
  EXPECT_TRUE(becomes(2, token));
  kill(trainer, SIGKILL);
  waitpid(trainer, nullptr, 0);
  EXPECT_TRUE(becomes(0, token));
}

TEST(SessionTool, SaysWhatItNeeds) {
  ToolConfig config = config_of("code_interpreter");
  config.runtime = {"/nowhere/at/all"};
  EXPECT_NE(message_of<ConfigError>([&] { make_session_tool(config); }).find("/nowhere/at/all"),
            std::string::npos);
  config = config_of("code_interpreter");
  config.waive_layers = {"memry"};
  EXPECT_NE(message_of<ConfigError>([&] { make_session_tool(config); }).find("did you mean \"memory\"?"),
            std::string::npos);
}

// The figures of docs/environments.md.
TEST(SessionTool, DISABLED_TimeOfACall) {
  for (const char* type : {"code_interpreter", "bash"}) {
    Session session(config_of(type));
    const std::string request = type == std::string("bash") ? "echo 2" : "1 + 1";
    const auto median = [&](const auto& act) {
      std::vector<double> times;
      for (int i = 0; i < 100; ++i) {
        const auto began = steady_clock::now();
        act(i);
        times.push_back(std::chrono::duration<double, std::milli>(steady_clock::now() - began).count());
      }
      std::ranges::sort(times);
      return times[50];
    };
    session(request, 0);
    printf("%s: a call %.3f ms\n", type, median([&](int) { session(request, 0); }));
    session.tool().end(0);
    printf("%s: the first call of an episode %.1f ms, with its end %.1f ms\n", type,
           median([&](int i) { session(request, i); }),
           median([&](int i) { session(request, 1000 + i), session.tool().end(1000 + i); }));
  }
}

}  // namespace
}  // namespace cohort
