// cohort diff: how two runs differ.
#include <iostream>

#include "apps/cli/command.h"
#include "cohort/explain/run_diff.h"
#include "libs/common/visible_text.h"

namespace cohort::cli {
namespace {

struct DiffConfig {
  bool json = false;

  void describe(FieldVisitor& f) { f("json", json, "Print JSON instead of text."); }
};

}  // namespace

int diff_command(const Command& self, const Arguments& arguments) {
  DiffConfig config;
  const auto runs = read_arguments(self, arguments, config);
  if (!runs) return 0;
  if (runs->size() < 2) throw ConfigError(str("cohort ", self.name, ": name the directories of two runs"));
  if (runs->size() > 2) refuse_arguments(self, {runs->begin() + 2, runs->end()});
  const RunDiff diff = compare_runs(runs->at(0), runs->at(1));
  std::cout << (config.json ? to_json_text(to_json(diff), 2) + "\n" : visible_text(to_text(diff)));
  return 0;
}

}  // namespace cohort::cli
