#include "cohort/train/run/rollback.h"

#include <fstream>

#include "cohort/core/append_file.h"
#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/records/record_lines.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Rollbacks that a checkpoint was written after.
int64_t rollbacks_before(const fs::path& checkpoint) {
  return read_json(checkpoint / "state.json").value("rollbacks", int64_t{0});
}

/// Copies a file from a place to its end; makes no copy of nothing.
void copy_from(const fs::path& path, int64_t place, const fs::path& copy) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(place);
  if (file.peek() == std::ifstream::traits_type::eof()) return;
  fs::remove(copy);
  AppendFile tail(copy);
  for (std::string part(1 << 20, '\0'); file.read(part.data(), std::ssize(part)), file.gcount() > 0;) {
    tail.append(std::string_view(part).substr(0, file.gcount()));
    tail.flush();
  }
  tail.sync();
}

}  // namespace

std::vector<Rollback> rollbacks_of(const RunDirectory& run) {
  std::vector<Rollback> rollbacks;
  for_each_line(run.rollbacks_file(), [&](const std::string& line, int64_t) {
    const Json row = Json::parse(line);
    rollbacks.push_back(
        {row.at("step").get<int64_t>(), row.at("to_step").get<int64_t>(), row.at("reason").get<std::string>(),
         row.contains("best_score") ? std::optional(row["best_score"].get<double>()) : std::nullopt});
  });
  return rollbacks;
}

Json copy_lines_after(const RunDirectory& run, int64_t to_step, int64_t count) {
  const fs::path folder = run.rollback_folder(count);
  make_directories(folder);
  Json sizes = Json::object();
  for (const auto& [name, file] : {std::pair("metrics", run.metrics_file()),
                                   {"timings", run.timings_file()},
                                   {"completions", run.completions_file()}}) {
    const int64_t place = place_after(file, to_step);
    copy_from(file, place, folder / file.filename());
    sizes[name] = place;
  }
  return sizes;
}

void write_rollback(const RunDirectory& run, const Rollback& rollback) {
  std::string lines;
  int64_t count = 1;
  for_each_line(run.rollbacks_file(), [&](const std::string& line, int64_t) {
    lines += line + "\n";
    ++count;
  });
  Json row{{"rollback", count},
           {"step", rollback.step},
           {"to_step", rollback.to_step},
           {"reason", rollback.reason}};
  if (rollback.best_score) row["best_score"] = *rollback.best_score;
  write_file_atomically(run.rollbacks_file(), lines + to_json_text(row) + "\n");
}

void leave_steps_after(const RunDirectory& run, int64_t to_step, int64_t count) {
  const fs::path folder = run.rollback_folder(count);
  make_directories(folder);
  std::vector<fs::path> left;
  for (const int64_t step : RunDirectory::batch_steps(run.root())) {
    if (step > to_step) left.push_back(RunDirectory::batch_in(run.root(), step));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(run.root())) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kNonfinite = "nonfinite-";
    if (name.starts_with(kNonfinite) && std::strtoll(name.c_str() + kNonfinite.size(), nullptr, 10) > to_step)
      left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::rename(path, folder / path.filename());
  for (const int64_t step : run.checkpoint_steps()) {
    if (step > to_step) retire_directory(run.checkpoint(step));
  }
}

int64_t newest_on_branch(const RunDirectory& run, int64_t up_to) {
  const std::vector<Rollback> rollbacks = rollbacks_of(run);
  int64_t newest = -1;
  for (const int64_t step : run.checkpoint_steps()) {
    const int64_t before = rollbacks_before(run.checkpoint(step));
    if (before > std::ssize(rollbacks)) {
      throw FormatError(str(run.rollbacks_file().string(), ": has ", rollbacks.size(), " lines, and ",
                            run.checkpoint(step).string(), " was written after ", before,
                            " rollbacks: put the file back"));
    }
    const bool is_left =
        !rollbacks.empty() && step > rollbacks.back().to_step && before < std::ssize(rollbacks);
    if (step <= up_to && !is_left) newest = step;
  }
  return newest;
}

}  // namespace cohort
