// cohort docs: the pages of docs/ that are made by the program.
#include <iostream>

#include "apps/cli/command.h"
#include "cohort/core/error.h"
#include "cohort/train/configuration_page.h"

namespace cohort::cli {
namespace {

struct DocsConfig {
  void describe(FieldVisitor&) {}
};

}  // namespace

int docs_command(const Command& self, const Arguments& arguments) {
  DocsConfig config;
  const auto rest = read_arguments(self, arguments, config);
  if (!rest) return 0;
  if (rest->empty()) throw ConfigError("cohort docs: name the page, which is \"configuration\"");
  if (rest->size() > 1) refuse_arguments(self, {rest->begin() + 1, rest->end()});
  if (rest->front() != "configuration") {
    throw ConfigError(
        str("cohort docs: there is no page \"", rest->front(), "\"; there is \"configuration\""));
  }
  std::cout << configuration_page();
  return 0;
}

}  // namespace cohort::cli
