// Reading and writing the JSONL rows of the commands.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/core/jsonl_writer.h"

namespace cohort::cli {

/// Calls `f(row, "FILE:LINE")` for every line that is not blank. Throws FormatError naming file and line.
void for_each_row(const std::string& path, const std::function<void(const Json&, const std::string&)>& f);

/// A list of token ids. Throws FormatError naming `where` and the key.
std::vector<int32_t> read_ids(const Json& row, const char* key, const std::string& where);

/// A new file, replacing an old one. Throws FormatError when it can't be written.
JsonlWriter open_output(const std::string& path);

/// 0 takes all cores.
void set_threads(int64_t threads);

/// "cpu" or "cuda". Throws ConfigError for cuda where there is none.
at::Device parse_device(const std::string& name);

}  // namespace cohort::cli
