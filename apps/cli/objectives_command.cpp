// cohort objectives: the presets of the objective, what each is made of and what it sets.
#include <iostream>

#include "apps/cli/command.h"
#include "cohort/objectives/preset_text.h"

namespace cohort::cli {
namespace {

struct ObjectivesConfig {
  void describe(FieldVisitor&) {}
};

}  // namespace

int objectives_command(const Command& self, const Arguments& arguments) {
  ObjectivesConfig config;
  const auto rest = read_arguments(self, arguments, config);
  if (!rest) return 0;
  if (rest->size() > 1) refuse_arguments(self, {rest->begin() + 1, rest->end()});
  std::cout << (rest->empty() ? presets_text() : preset_text(rest->front()));
  return 0;
}

}  // namespace cohort::cli
