// Python programs for tests of rewards that are programs.
#pragma once

#include <signal.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/test_files.h"

namespace cohort {

/// A folder with a program that answers requests, and what it notes there.
class Program {
 public:
  /// `body` defines `score(row)`; or `rewards(request)`, the list; or `answer(request)`, all that is sent.
  explicit Program(const std::string& body) {
    write_text(folder_.path() / "program.py", std::string(R"(
import json, os, signal, subprocess, sys, time
os.chdir(os.path.dirname(__file__))
def note(name, text):
    with open(name, "a") as file: print(text, file=file)
def send(text):
    sys.stdout.write(text)
    sys.stdout.flush()
def rewards(request): return [{"id": row["id"], "score": score(row)} for row in request["rows"]]
def answer(request): send(json.dumps({"id": request["id"], "rewards": rewards(request)}) + "\n")
)") + body + "\nfor line in sys.stdin: answer(json.loads(line))\n");
  }

  std::vector<std::string> command() const { return {"python3", (path() / "program.py").string()}; }
  std::filesystem::path path() const { return folder_.path(); }

  /// The lines that were noted under `name`.
  std::vector<std::string> notes(const std::string& name) const {
    std::ifstream file(path() / name);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  TemporaryDirectory folder_;
};

/// Whether a process ends, within half a minute. It is init's to reap; until then it is a zombie.
inline bool is_gone_soon(pid_t pid) {
  for (int i = 0; i < 3000; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string id, name, state;
    if (!(stat >> id >> name >> state) || state == "Z" || state == "X") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace cohort
