#include "cohort/tasks/task.h"

#include <fstream>
#include <unordered_set>

#include "cohort/core/error.h"
#include "cohort/tasks/generators.h"
#include "libs/common/hash.h"
#include "libs/common/nearest.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

using DrawRow = Json (*)(const TaskConfig&, CounterRng&);

struct TaskEntry {
  const char* name;
  DrawRow draw;
};

constexpr TaskEntry kTasks[] = {
#define TASK(name, meaning) {#name, draw_##name},
#include "cohort/tasks/tasks.def"
#undef TASK
};

// First word of every address drawn here, so that a data set and a run with the same seed share no numbers.
constexpr uint64_t kTaskStream = 0x7461736b;  // "task"
constexpr uint64_t kOneInHeldOut = 8;
// So many draws without a new problem mean that the problem space is used up.
constexpr int64_t kMaxRepeats = 20000;

DrawRow find_draw(const TaskConfig& config) {
  for (const TaskEntry& task : kTasks) {
    if (config.name == task.name) return task.draw;
  }
  throw ConfigError(str("unknown task \"", config.name, "\"; did you mean \"",
                        nearest_name(config.name, task_names()), "\"?"));
}

void check_success(double share) {
  if (share < 0.0 || share > 1.0) {
    throw ConfigError(str("solution_success = ", share, " is out of range; it must be from 0 to 1"));
  }
}

void check_range(const char* key, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high) {
    throw ConfigError(str(key, " = ", value, " is out of range; it must be from ", low, " to ", high));
  }
}

void validate(const TaskConfig& config) {
  check_range("num_operands", config.num_operands, 2, 6);
  check_range("max_value", config.max_value, 4, 1000);
  check_success(config.solution_success);
}

Split split_of(const std::string& prompt) {
  // The seed 0 only mixes FNV's weak low bits.
  return random_bits(0, {fnv1a(prompt)}) % kOneInHeldOut == 0 ? Split::kTest : Split::kTrain;
}

Json draw_row(DrawRow draw, const TaskConfig& config, uint64_t seed, int64_t index, Split split) {
  CounterRng rng(seed, {kTaskStream, static_cast<uint64_t>(index)});
  while (true) {
    Json row = draw(config, rng);
    if (split_of(row["prompt"].get_ref<const std::string&>()) == split) return row;
  }
}

}  // namespace

Split parse_split(const std::string& name) {
  if (name == "train") return Split::kTrain;
  if (name == "test") return Split::kTest;
  throw ConfigError(str("unknown split \"", name, "\"; it must be \"train\" or \"test\""));
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskEntry& task : kTasks) names.emplace_back(task.name);
  return names;
}

Json make_task_row(const TaskConfig& config, uint64_t seed, int64_t index, Split split) {
  DrawRow draw = find_draw(config);
  validate(config);
  return draw_row(draw, config, seed, index, split);
}

std::vector<Json> make_task_rows(const TaskConfig& config, uint64_t seed, int64_t count, Split split) {
  DrawRow draw = find_draw(config);
  validate(config);
  std::vector<Json> rows;
  std::unordered_set<std::string> prompts;
  int64_t num_repeats = 0;
  for (int64_t index = 0; static_cast<int64_t>(rows.size()) < count; ++index) {
    Json row = draw_row(draw, config, seed, index, split);
    if (prompts.insert(row["prompt"]).second) {
      rows.push_back(std::move(row));
      num_repeats = 0;
    } else if (++num_repeats == kMaxRepeats) {
      throw ConfigError(str("task ", config.name, " has only about ", rows.size(),
                            " distinct problems of this split; ", count,
                            " were asked for: raise max_value or num_operands"));
    }
  }
  return rows;
}

void write_task_jsonl(const TaskConfig& config, uint64_t seed, int64_t count, Split split,
                      const std::filesystem::path& path) {
  std::vector<Json> rows = make_task_rows(config, seed, count, split);
  std::ofstream file(path, std::ios::binary);
  for (const Json& row : rows) file << to_json_text(row) << '\n';
  file.close();
  if (!file) throw FormatError(str(path.string(), ": cannot be written"));
}

}  // namespace cohort
