// Reading and writing the JSONL rows of the commands.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/core/jsonl_reader.h"
#include "cohort/core/jsonl_writer.h"

namespace cohort::cli {

/// Calls `f(row, "FILE:LINE")` for every line that is not blank. Throws FormatError naming file and line for
/// what is no JSON object.
void for_each_row(const std::string& path, const OnRow& f);

/// The same for a stream that is open, line by line as it comes; `name` stands for the file.
void for_each_row(std::istream& stream, const std::string& name, const OnRow& f);

/// A string. Throws FormatError naming `where` and the key.
std::string read_string(const Json& row, const char* key, const std::string& where);

/// A list of token ids. Throws FormatError naming `where` and the key.
std::vector<int32_t> read_ids(const Json& row, const char* key, const std::string& where);

/// Throws FormatError, before any work is done, when `path` is a folder or lies in none.
void check_output(const std::string& path);

/// Writes one JSON value as a file, or into what is no regular file, such as /dev/null, as it is. Throws
/// FormatError when it can't be written.
void write_result(const std::string& path, const Json& value);

/// A new file, replacing an old one. Throws FormatError when it can't be written.
JsonlWriter open_output(const std::string& path);

}  // namespace cohort::cli
