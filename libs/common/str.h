// str(a, b, ...): the arguments written one after another, as operator<< writes them.
#pragma once

#include <sstream>
#include <string>

namespace cohort {

template <typename... Args>
std::string str(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

}  // namespace cohort
