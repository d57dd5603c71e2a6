// Lines of the files that a run writes: each begins with its step.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "cohort/core/json.h"

namespace cohort {

/// Of a line of metrics.jsonl, timings.jsonl or completions.jsonl.
inline int64_t step_of(const std::string& line) {
  constexpr std::string_view kBegin = R"({"step":)";
  if (line.starts_with(kBegin)) return std::strtoll(line.c_str() + kBegin.size(), nullptr, 10);
  return Json::parse(line).value("step", int64_t{0});
}

/// Calls f(line, place of its first byte) for each line of a file that ends; none if it is not open.
template <typename F>
void for_each_line(std::ifstream& file, F f) {
  std::string line;
  for (int64_t place = 0; std::getline(file, line) && !file.eof(); place += std::ssize(line) + 1)
    f(line, place);
}

/// The same; there may be no such file.
template <typename F>
void for_each_line(const std::filesystem::path& path, F f) {
  std::ifstream file(path, std::ios::binary);
  for_each_line(file, f);
}

/// Where the lines of steps after `step` begin in a record file: its size, if there are none.
inline int64_t place_after(const std::filesystem::path& path, int64_t step) {
  const int64_t size =
      std::filesystem::exists(path) ? static_cast<int64_t>(std::filesystem::file_size(path)) : 0;
  int64_t first = size;
  for_each_line(path, [&](const std::string& line, int64_t place) {
    if (first == size && step_of(line) > step) first = place;
  });
  return first;
}

}  // namespace cohort
