#include "cohort/train/run/rollback.h"

#include <fstream>

#include "cohort/core/atomic_file.h"
#include "cohort/core/json.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Calls f(line) for each line of a file that ends; none if there is no file.
template <typename F>
void for_each_line(const fs::path& path, F f) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  while (std::getline(file, line) && !file.eof()) f(line);
}

/// Rollbacks that a checkpoint was written after.
int64_t rollbacks_before(const fs::path& checkpoint) {
  return read_json(checkpoint / "state.json").value("rollbacks", int64_t{0});
}

}  // namespace

std::vector<Rollback> rollbacks_of(const RunDirectory& run) {
  std::vector<Rollback> rollbacks;
  for_each_line(run.rollbacks_file(), [&](const std::string& line) {
    const Json row = Json::parse(line);
    rollbacks.push_back({row.at("step").get<int64_t>(), row.at("to_step").get<int64_t>(),
                         row.at("reason").get<std::string>()});
  });
  return rollbacks;
}

void write_rollback(const RunDirectory& run, const Rollback& rollback) {
  const fs::path folder = run.rollback_folder(rollback.step);
  make_directories(folder);
  for (const fs::path& file : {run.metrics_file(), run.timings_file(), run.completions_file()}) {
    std::string kept;
    for_each_line(file, [&](const std::string& line) {
      if (Json::parse(line).value("step", int64_t{0}) > rollback.to_step) kept += line + "\n";
    });
    if (!kept.empty()) write_file_atomically(folder / file.filename(), kept);
  }
  std::string lines;
  for_each_line(run.rollbacks_file(), [&](const std::string& line) { lines += line + "\n"; });
  const Json row{{"step", rollback.step}, {"to_step", rollback.to_step}, {"reason", rollback.reason}};
  write_file_atomically(run.rollbacks_file(), lines + to_json_text(row) + "\n");
}

int64_t newest_on_branch(const RunDirectory& run, int64_t up_to) {
  const std::vector<Rollback> rollbacks = rollbacks_of(run);
  int64_t newest = -1;
  for (const int64_t step : run.checkpoint_steps()) {
    const bool is_left = !rollbacks.empty() && step > rollbacks.back().to_step &&
                         rollbacks_before(run.checkpoint(step)) < std::ssize(rollbacks);
    if (step <= up_to && !is_left) newest = step;
  }
  return newest;
}

void retire_after(const RunDirectory& run, int64_t step) {
  for (const int64_t other : run.checkpoint_steps()) {
    if (other > step) retire_directory(run.checkpoint(other));
  }
}

}  // namespace cohort
