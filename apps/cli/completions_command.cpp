// cohort completions: lines of a run's completions.jsonl, from its compressed files, too.
#include <iostream>

#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/records/completions_log.h"

namespace cohort::cli {
namespace {

struct CompletionsConfig {
  std::optional<int64_t> step;
  std::string prompt_id;

  void describe(FieldVisitor& f) {
    f("step", step, "Only completions of this step.", at_least(1));
    f("prompt_id", prompt_id, "Only completions of this prompt.");
  }
};

}  // namespace

int completions_command(const Command& self, const Arguments& arguments) {
  CompletionsConfig config;
  const auto run = read_one_argument(self, arguments, config, "the directory of a run");
  if (!run) return 0;
  int64_t count = 0;
  for_each_completion(*run, config.step, [&](const std::string& line) {
    if (!config.prompt_id.empty() && Json::parse(line).value("prompt_id", "") != config.prompt_id) return;
    std::cout << line << "\n";
    ++count;
  });
  if (count == 0) throw FormatError(str(*run, ": has no such completions"));
  return 0;
}

}  // namespace cohort::cli
