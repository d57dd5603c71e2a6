// Times the mathematics verifier on pairs of a JSONL file, each check from the completion to the reward.
//   bench_math_speed PAIRS.jsonl [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/rewards/reward.h"

namespace {

struct Check {
  cohort::Prompt prompt;
  cohort::Completion completion;
};

std::vector<Check> read_checks(const char* path) {
  std::vector<Check> checks;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const cohort::Json pair = cohort::Json::parse(line);
    Check check;
    check.prompt.fields["answer"] = pair.at("gold");
    check.completion.text = pair.contains("completion")
                                ? pair["completion"].get<std::string>()
                                : "So \\boxed{" + pair.at("answer").get<std::string>() + "}.";
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "math_speed PAIRS.jsonl [ROUNDS]\n";
    return 2;
  }
  try {
    const std::vector<Check> checks = read_checks(argv[1]);
    const int num_rounds = argc > 2 ? std::stoi(argv[2]) : 10;
    const auto reward = cohort::make_reward({.name = "accuracy"});
    std::vector<double> milliseconds;
    for (int round = 0; round < num_rounds; ++round) {
      for (const Check& check : checks) {
        const auto start = std::chrono::steady_clock::now();
        reward->score(check.prompt, check.completion);
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
        milliseconds.push_back(elapsed.count());
      }
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    const auto quantile = [&](double share) {
      return milliseconds[static_cast<size_t>(share * (milliseconds.size() - 1))];
    };
    const double mean = std::accumulate(milliseconds.begin(), milliseconds.end(), 0.0) / milliseconds.size();
    std::printf("%zu checks: mean %.4f ms, p50 %.4f, p99 %.4f, p99.9 %.4f, longest %.4f\n",
                milliseconds.size(), mean, quantile(0.5), quantile(0.99), quantile(0.999),
                milliseconds.back());
  } catch (const cohort::UserError& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
  return 0;
}
