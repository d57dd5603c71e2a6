// The names in the tables of docs/metrics.md.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "tests/core/test_files.h"

namespace cohort {

/// Patterns of all names in the first cells of the tables. `{func}` and its like stand for any text, and a
/// name after the first of a cell may leave out what precedes its last slash.
inline const std::vector<std::regex>& documented_metrics() {
  static const std::vector<std::regex> patterns = [] {
    const std::regex row(R"(^\| (`[^|]*`) \|)"), name("`([^`]+)`"), variable(R"(\{[a-z]+\})");
    std::vector<std::regex> found;
    const auto add = [&](const std::string& text) {
      found.emplace_back(std::regex_replace(text, variable, "[^/]+"));
    };
    std::istringstream page(read_text(COHORT_SOURCE_DIR "/docs/metrics.md"));
    for (std::string line; std::getline(page, line);) {
      std::smatch cell;
      if (!std::regex_search(line, cell, row)) continue;
      const std::string names = cell[1];
      std::string folder;
      for (std::sregex_iterator next(names.begin(), names.end(), name), end; next != end; ++next) {
        const std::string text = (*next)[1];
        const size_t slash = text.rfind('/');
        if (slash == 0 || slash == std::string::npos) add(folder + (slash == 0 ? text : "/" + text));
        if (slash == 0) continue;
        add(text);
        folder = slash == std::string::npos ? folder : text.substr(0, slash);
      }
    }
    return found;
  }();
  return patterns;
}

inline bool is_documented(const std::string& metric) {
  for (const std::regex& pattern : documented_metrics()) {
    if (std::regex_match(metric, pattern)) return true;
  }
  return false;
}

}  // namespace cohort
