#include "cohort/view/run_view.h"

#include <algorithm>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/toml_json.h"
#include "cohort/records/run_directory.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

fs::path existing_run(fs::path run) {
  if (!RunDirectory::holds_run(run))
    throw ConfigError(
        str(run.string(), ": holds no run; name a directory with a config.toml that cohort wrote"));
  return run;
}

/// The last `count` parts of a path.
std::string last_parts(const fs::path& path, size_t count) {
  std::vector<fs::path> parts(path.begin(), path.end());
  std::erase(parts, fs::path());
  fs::path name;
  for (size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i) name /= parts[i];
  return name.string();
}

/// A word as a shell reads it.
std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("-_./:@%+,").find(c) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

const Json* find_setting(const Json& recipe, std::string_view key) {
  const Json* place = &recipe;
  while (!key.empty()) {
    const std::string part(key.substr(0, key.find('.')));
    if (!place->is_object()) return nullptr;
    const auto found = place->find(part);
    if (found == place->end()) return nullptr;
    place = &*found;
    key.remove_prefix(std::min(part.size() + 1, key.size()));
  }
  return place;
}

RunView::RunView(const fs::path& run)
    : path_(fs::absolute(existing_run(run)).lexically_normal()),
      name_(last_parts(path_, 1)),
      figures_(path_),
      completions_(path_),
      tokenizer_(path_) {
  update();
  check();
}

bool RunView::update() {
  try {
    bool has_changed = read_recipe();
    has_changed |= figures_.update();
    has_changed |= completions_.update();
    if (num_loads_ != completions_.num_loads()) searches_.clear();
    num_loads_ = completions_.num_loads();
    has_changed |= !problem_.empty();
    problem_.clear();
    if (has_changed) ++version_;
    return has_changed;
  } catch (const std::exception& error) {
    const bool is_new = problem_ != error.what();
    problem_ = error.what();
    if (is_new) ++version_;
    return is_new;
  }
}

void RunView::check() const {
  if (!problem_.empty()) throw FormatError(problem_);
}

bool RunView::read_recipe() {
  const fs::path file = path_ / "config.toml";
  std::error_code none;
  const fs::file_time_type time = fs::last_write_time(file, none);
  if (!none && time == recipe_time_) return false;
  recipe_ = read_toml(file);
  recipe_time_ = time;
  return true;
}

std::string RunView::kind() const {
  if (recipe_.contains("attacker")) return "adversarial-train";
  if (recipe_.contains("rollout")) return "train";
  if (recipe_.contains("head")) return "reward-train";
  return find_setting(recipe_, "train.pairs_per_step") != nullptr ? "dpo" : "sft";
}

int64_t RunView::max_steps() const {
  const Json* steps = find_setting(recipe_, "train.max_steps");
  return steps != nullptr && steps->is_number_integer() ? steps->get<int64_t>() : 0;
}

bool RunView::is_finished() const {
  if (max_steps() > 0 && figures_.last_step() >= max_steps()) return true;
  std::error_code none, missing;
  const fs::file_time_type final_time = fs::last_write_time(path_ / "final", missing);
  return !missing && final_time >= fs::last_write_time(path_ / "metrics.jsonl", none);
}

const std::vector<RunFinding>& RunView::findings() {
  if (findings_version_ != version_) {
    findings_ = find_problems(evidence());
    findings_version_ = version_;
  }
  return findings_;
}

std::string completions_command(const RunView& run, const SampleEvidence& sample) {
  return str("cohort completions ", shell_word(run.path().string()), " --step ", sample.step, " --prompt-id ",
             shell_word(sample.prompt_id));
}

std::vector<RunView> open_runs(const std::vector<fs::path>& paths) {
  std::vector<RunView> runs;
  runs.reserve(paths.size());
  for (const fs::path& path : paths) runs.emplace_back(path);
  constexpr size_t kMostParts = 32;
  for (size_t count = 1; count < kMostParts; ++count) {
    std::set<std::string> names;
    for (RunView& run : runs) {
      run.set_name(last_parts(run.path(), count));
      names.insert(run.name());
    }
    if (names.size() == runs.size()) break;
  }
  return runs;
}

}  // namespace cohort
