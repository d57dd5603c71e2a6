#include "cohort/records/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/core/jsonl_writer.h"
#include "cohort/core/time_text.h"
#include "cohort/rl/batch_file.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpointPrefix = "step-";
constexpr const char* kBatchSuffix = ".batch";
constexpr const char* kTemporaryPrefix = ".tmp-";
constexpr const char* kTrashPrefix = ".trash-";  // as retire_directory names it

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FormatError(str(path.string(), ": can't be read"));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A run overwrites files: its directory must hold none but those of a run that was killed or refused before
/// its first step, and the `inputs` that a trainer of the Python package writes for it.
void check_unused(const fs::path& root) {
  if (!fs::is_directory(root)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const fs::path name = entry.path().filename();
    static const std::set<fs::path> beginning{
        ".lock", ".start", ".start.tmp", ".files.json", ".files.json.tmp", "config.toml.tmp", "inputs"};
    if (beginning.contains(name) || (name == "checkpoints" && fs::is_empty(entry))) continue;
    if (name == "metrics.jsonl" && entry.is_regular_file() && entry.file_size() == 0) continue;
    throw ConfigError(str(root.string(), ": holds ", name.string(),
                          ", which is no run's beginning: choose a new run.dir or empty this one"));
  }
}

std::string step_name(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "%s%08lld", kCheckpointPrefix, static_cast<long long>(step));
  return name;
}

/// The steps of the checkpoints in a directory, ascending; none if there is no such directory.
std::vector<int64_t> steps_in(const fs::path& checkpoints) {
  std::vector<int64_t> steps;
  if (!fs::is_directory(checkpoints)) return steps;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kCheckpointPrefix)) continue;
    steps.push_back(std::strtoll(name.c_str() + std::strlen(kCheckpointPrefix), nullptr, 10));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

}  // namespace

RunDirectory::RunDirectory(const fs::path& root, bool locks) : root_(root) {
  if (!locks) return;
  try {
    make_directories(root_ / "checkpoints");
  } catch (const FormatError& error) {
    throw ConfigError(str("run.dir: ", error.what()));
  }
  // A process may have been killed before it synced what it had made.
  for (const fs::path& path : {root_, root_ / "checkpoints"}) sync_name(path);
  const fs::path lock_file = root_ / ".lock";
  lock_ = ::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock_ < 0) throw ConfigError(str(lock_file.string(), ": can't open: ", std::strerror(errno)));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw ConfigError(str(root.string(), ": another process is writing to this run; wait for it or stop it"));
  }
}

RunDirectory::~RunDirectory() {
  if (lock_ < 0) return;
  ::flock(lock_, LOCK_UN);  // forked children that live on would keep it
  ::close(lock_);
}

RunDirectory RunDirectory::create(const fs::path& root, const std::string& config_toml, const std::tm& start,
                                  const Json& files) {
  if (holds_run(root)) {
    throw ConfigError(
        str(root.string(), ": holds a run already: continue it with --resume or choose another run.dir"));
  }
  check_unused(root);
  RunDirectory run(root, /*locks=*/true);
  write_file_atomically(run.start_file(), to_time_text(start) + "\n");
  write_json(run.files_file(), files);
  write_file_atomically(run.config_file(), config_toml);  // last: it says that the run is there
  return run;
}

RunDirectory RunDirectory::resume(const fs::path& root) {
  if (!holds_run(root)) throw ConfigError(str(root.string(), ": holds no run to resume"));
  return {root, /*locks=*/true};
}

RunDirectory RunDirectory::read(const fs::path& root) {
  // A file system of the network may show late what another process has written.
  for (int tries = 0; tries < 300 && !holds_run(root); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (!holds_run(root)) {
    throw ConfigError(str(root.string(),
                          ": holds no run, but rank 0 writes one: run.dir must be on a file system "
                          "that all processes share"));
  }
  return {root, /*locks=*/false};
}

void RunDirectory::check_checkpoints(const fs::path& root) {
  const fs::path checkpoints = root / "checkpoints";
  if (!fs::exists(root / ".saved") || !steps_in(checkpoints).empty()) return;
  throw ConfigError(str(checkpoints.string(),
                        ": holds no checkpoint, but the run wrote some: put one back to go on, delete ",
                        root.string(), " to begin again, or choose another run.dir"));
}

void RunDirectory::mark_saved() const {
  if (!fs::exists(saved_file())) write_file_atomically(saved_file(), "");
}

void RunDirectory::change_settings(const std::vector<SettingChange>& changes, const std::string& config_toml,
                                   const Json& files) const {
  if (changes.empty()) return;
  const std::vector<int64_t> steps = checkpoint_steps();
  JsonlWriter log(changes_file());
  for (const SettingChange& change : changes) {
    log.write({{"after_step", steps.empty() ? 0 : steps.back()},
               {"key", change.key},
               {"before", change.before},
               {"now", change.now}});
  }
  log.sync();
  write_json(files_file(), files);
  write_file_atomically(config_file(), config_toml);
}

Json RunDirectory::files_of(const fs::path& root) {
  const fs::path path = root / ".files.json";
  return fs::exists(path) ? read_json(path) : Json();
}

std::tm RunDirectory::start_of(const fs::path& root) {
  const fs::path path = root / ".start";
  std::string text = read_text(path);
  if (text.ends_with('\n')) text.pop_back();
  const auto time = parse_time_text(text);
  if (!time) throw FormatError(str(path.string(), ": must hold a time such as 2027-03-04T05:06:07"));
  return *time;
}

bool RunDirectory::holds_run(const fs::path& root) { return fs::exists(root / "config.toml"); }

void RunDirectory::withdraw() const {
  std::error_code none;
  if (const auto size = fs::file_size(metrics_file(), none); !none && size > 0) return;
  std::ofstream(metrics_file(), std::ios::app).close();
  fs::remove(memory_plan_file(), none);
  fs::remove(config_file(), none);
}

fs::path RunDirectory::checkpoint(int64_t step) const { return checkpoint_in(root_, step); }

fs::path RunDirectory::checkpoint_in(const fs::path& root, int64_t step) {
  return root / "checkpoints" / step_name(step);
}

fs::path RunDirectory::batch_in(const fs::path& root, int64_t step) {
  return root / "batches" / (step_name(step) + kBatchSuffix);
}

std::vector<int64_t> RunDirectory::batch_steps(const fs::path& root) {
  std::vector<int64_t> steps;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root / "batches", none)) {
    if (entry.path().extension() != kBatchSuffix) continue;
    const std::string name = entry.path().stem();
    const std::string number = name.substr(std::min(name.size(), std::string_view(kCheckpointPrefix).size()));
    if (const int64_t step = std::strtoll(number.c_str(), nullptr, 10); name == step_name(step))
      steps.push_back(step);
  }
  std::ranges::sort(steps);
  return steps;
}

void RunDirectory::write_batch(const Batch& batch) const {
  make_directories(root_ / "batches");
  cohort::write_batch(batch_in(root_, batch.step), batch);
}

std::string RunDirectory::missing_batch(const fs::path& root, int64_t step) {
  std::error_code none;
  if (fs::exists(batch_in(root, step), none)) return "";
  const std::vector<int64_t> steps = batch_steps(root);
  const std::string held = steps.empty()       ? "none"
                           : steps.size() == 1 ? str("that of step ", steps.front())
                                               : str("those of ", steps.size(), " steps from ", steps.front(),
                                                     " to ", steps.back());
  return str("step ", step, " has no batch in ", (root / "batches").string(), ", which holds ", held,
             "; run.save_batches = true keeps them all");
}

std::string RunDirectory::missing_checkpoint(const fs::path& root, int64_t step) {
  std::error_code none;
  const fs::path checkpoint = checkpoint_in(root, step);
  if (fs::exists(checkpoint, none)) return "";
  return str(checkpoint.string(), " is missing, which holds the weights after step ", step,
             "; train.save_steps and train.save_total_limit decide which checkpoints are kept");
}

void RunDirectory::keep_one_batch(int64_t step) const {
  std::error_code none;
  for (const int64_t other : batch_steps(root_)) {
    if (other != step) fs::remove(batch_in(root_, other), none);
  }
}

fs::path RunDirectory::temporary_checkpoint(int64_t step) const {
  return root_ / "checkpoints" / (kTemporaryPrefix + step_name(step));
}

std::vector<int64_t> RunDirectory::checkpoint_steps() const { return steps_in(root_ / "checkpoints"); }

void RunDirectory::keep_newest_checkpoints(int64_t count, const std::vector<int64_t>& kept) const {
  const std::vector<int64_t> steps = checkpoint_steps();
  for (int64_t i = 0; i + count < static_cast<int64_t>(steps.size()); ++i) {
    if (std::ranges::find(kept, steps[i]) == kept.end()) retire_directory(checkpoint(steps[i]));
  }
  delete_leftovers();
}

void RunDirectory::delete_leftovers() const {
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(root_ / "checkpoints")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kTemporaryPrefix) || name.starts_with(kTrashPrefix))
      leftovers.push_back(entry.path());
  }
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover);
}

}  // namespace cohort
