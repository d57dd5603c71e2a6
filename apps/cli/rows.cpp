#include "apps/cli/rows.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "cohort/core/error.h"

namespace cohort::cli {

void for_each_row(const std::string& path, const std::function<void(const Json&, const std::string&)>& f) {
  std::ifstream file(path);
  if (!file) throw FormatError(str(path, ": can't be read"));
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    f(parse_json_line(line, path, number), str(path, ":", number));
  }
}

std::vector<int32_t> read_ids(const Json& row, const char* key, const std::string& where) {
  if (!row.contains(key) || !row.at(key).is_array()) {
    throw FormatError(str(where, ": \"", key, "\" must be a list of token ids"));
  }
  std::vector<int32_t> ids;
  for (const Json& id : row.at(key)) {
    const bool fits = id.is_number_integer() && id.get<int64_t>() >= 0 &&
                      id.get<int64_t>() <= std::numeric_limits<int32_t>::max();
    if (!fits) throw FormatError(str(where, ": \"", key, "\" holds ", id.dump(), ", which is no token id"));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

JsonlWriter open_output(const std::string& path) {
  std::filesystem::remove(path);
  return JsonlWriter(path);
}

void set_threads(int64_t threads) {
  const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(threads > 0 ? threads : std::max<int64_t>(1, cores)));
}

at::Device parse_device(const std::string& name) {
  if (name == "cuda" && !at::hasCUDA()) throw ConfigError("device \"cuda\": this torch finds no CUDA device");
  return at::Device(name);
}

}  // namespace cohort::cli
