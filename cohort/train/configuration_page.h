// docs/configuration.md.
#pragma once

#include <string>

namespace cohort {

/// The page: every setting of every kind of run, from its declaration.
std::string configuration_page();

}  // namespace cohort
