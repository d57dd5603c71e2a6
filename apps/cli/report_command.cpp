// cohort report: what runs did, as one file.
#include <iostream>

#include "apps/cli/command.h"
#include "cohort/view/report.h"

namespace cohort::cli {
namespace {

struct ReportConfig {
  std::string output;
  std::vector<std::string> evaluation;

  void describe(FieldVisitor& f) {
    f("output", output,
      "File to write: .html for one file with everything in it, .md for Markdown with SVG charts beside it.");
    f("evaluation", evaluation,
      "A file of `cohort eval --output`, shown as a held-out result; given several times for several files.");
  }
};

}  // namespace

int report_command(const Command& self, const Arguments& arguments) {
  ReportConfig config;
  const auto runs = read_arguments(self, arguments, config);
  if (!runs) return 0;
  if (runs->empty())
    throw ConfigError(str("cohort ", self.name, ": name the directory of a run, or of several"));
  require(config.output, "output");
  const ReportOptions options{{config.evaluation.begin(), config.evaluation.end()}, COHORT_VERSION};
  for (const std::filesystem::path& file : write_report({runs->begin(), runs->end()}, config.output, options))
    std::cout << file.string() << "\n";
  return 0;
}

}  // namespace cohort::cli
