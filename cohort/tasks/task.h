// Built-in problem generators: rows of a data set made from a seed. A row has `prompt` (a string), `solution`
// (a worked completion for a supervised warm start) and the columns that its reward reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

/// The part of the problem space that a row comes from: a hash of the prompt decides, one in eight is held
/// out. Two files of different splits share no problem, for any seeds.
enum class Split { kTrain, kTest };

/// "train" or "test". Throws ConfigError for anything else.
Split parse_split(const std::string& name);

struct TaskConfig {
  std::string name = "countdown";  ///< a line of tasks.def
  int64_t num_operands = 3;        ///< numbers per problem, 2 to 6
  int64_t max_value = 20;  ///< the largest number, 4 to 1000; results of steps stay below five times it
  double solution_success = 1.0;  ///< share of `solution`s that are right, 0 to 1; the others are worked
                                  ///< tries that miss. Problems and their order do not depend on it
};

/// The names that `TaskConfig::name` knows, in the order of tasks.def.
std::vector<std::string> task_names();

/// Row `index` of an endless sequence, which is a pure function of the arguments; rows may repeat. Throws
/// ConfigError for an unknown name or a number out of range.
Json make_task_row(const TaskConfig& config, uint64_t seed, int64_t index, Split split);

/// The first `count` distinct rows of that sequence. Throws ConfigError when the problem space holds too few.
std::vector<Json> make_task_rows(const TaskConfig& config, uint64_t seed, int64_t count, Split split);

/// Writes `make_task_rows` to a JSONL file. Throws FormatError when it can't be written.
void write_task_jsonl(const TaskConfig& config, uint64_t seed, int64_t count, Split split,
                      const std::filesystem::path& path);

}  // namespace cohort
