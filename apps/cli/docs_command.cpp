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
  const auto page = read_one_argument(self, arguments, config, "the page, which is \"configuration\"");
  if (!page) return 0;
  if (*page != "configuration") {
    throw ConfigError(str("cohort docs: there is no page \"", *page, "\"; there is \"configuration\""));
  }
  std::cout << configuration_page();
  return 0;
}

}  // namespace cohort::cli
