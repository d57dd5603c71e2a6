// A server of tests/rewards/*.py that lives as long as a test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "tests/core/test_files.h"

extern char** environ;

namespace cohort {

class PythonServer {
 public:
  explicit PythonServer(const std::string& script, const std::string& certificate = "") {
    const std::string folder = COHORT_SOURCE_DIR "/tests/rewards/";
    std::vector<std::string> words{"python3", "-u", folder + script, log_path()};
    if (!certificate.empty()) words.push_back(folder + certificate);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int input[2], output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    EXPECT_EQ(posix_spawnp(&pid_, "python3", &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(input[0]);
    ::close(output[1]);
    input_ = input[1];
    for (char c = 0; ::read(output[0], &c, 1) == 1 && c != '\n';) port_ += c;
    ::close(output[0]);
    EXPECT_FALSE(port_.empty()) << script << " does not start";
  }

  /// The server ends with its input.
  ~PythonServer() {
    ::close(input_);
    EXPECT_EQ(waitpid(pid_, nullptr, 0), pid_);
  }

  PythonServer(const PythonServer&) = delete;
  PythonServer& operator=(const PythonServer&) = delete;

  std::string url(const std::string& path, const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + port_ + path;
  }

  /// What it was asked, a line each.
  std::vector<Json> requests() const {
    std::vector<Json> result;
    std::ifstream file(log_path());
    for (std::string line; std::getline(file, line);) result.push_back(Json::parse(line));
    return result;
  }

 private:
  std::string log_path() const { return (directory_.path() / "requests.jsonl").string(); }

  TemporaryDirectory directory_;
  pid_t pid_ = -1;
  int input_ = -1;
  std::string port_;
};

}  // namespace cohort
