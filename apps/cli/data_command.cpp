// cohort data: problems of a task as JSONL, a report on any JSONL, and JSONL of other formats.
#include "apps/cli/command.h"
#include "apps/cli/data_check.h"
#include "apps/cli/python_package.h"
#include "apps/cli/rows.h"
#include "cohort/core/error.h"
#include "cohort/tasks/task.h"

namespace cohort::cli {
namespace {

struct DataConfig {
  TaskConfig task;
  std::string split = "train";
  std::string output;
  int64_t count = 1000;
  int64_t seed = 0;

  void describe(FieldVisitor& f) {
    f("output", output, "JSONL: prompt, solution and the columns that the task's reward reads.");
    f("count", count, "Distinct problems.", at_least(1));
    f("seed", seed, "Decides which ones.", at_least(0));
    f("split", split, "Files of different splits share no problem, whatever their seeds.",
      one_of({"train", "test"}));
    f("num_operands", task.num_operands, "Numbers per problem.", between(2, 6));
    f("max_value", task.max_value, "The largest number of a problem.", between(4, 1000));
    f("solution_success", task.solution_success,
      "Share of solutions that are right; the others are tries that miss.", between(0.0, 1.0));
  }
};

}  // namespace

int data_command(const Command& self, const Arguments& arguments) {
  if (!arguments.empty() && arguments.front() == "check") {
    return data_check(self, {arguments.begin() + 1, arguments.end()});
  }
  if (!arguments.empty() && (arguments.front() == "convert" || arguments.front() == "reasoning-gym")) {
    Arguments all{self.name};
    all.insert(all.end(), arguments.begin(), arguments.end());
    run_python_package(all);
  }
  DataConfig config;
  const auto rest = read_arguments(self, arguments, config);
  if (!rest) return 0;
  if (rest->empty())
    throw ConfigError(str("cohort data: name one of the tasks ", Json(task_names()).dump(),
                          ", or check FILE, convert IN OUT or reasoning-gym NAME"));
  if (rest->size() > 1) refuse_arguments(self, {rest->begin() + 1, rest->end()});
  config.task.name = rest->front();
  require(config.output, "output");
  check_output(config.output);
  write_task_jsonl(config.task, static_cast<uint64_t>(config.seed), config.count, parse_split(config.split),
                   config.output);
  return 0;
}

}  // namespace cohort::cli
