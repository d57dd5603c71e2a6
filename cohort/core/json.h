// JSON values that keep the order of their keys, and readers whose errors name file and line.
#pragma once

#include <filesystem>
#include <string>

#include "libs/common/json_value.h"

namespace cohort {

/// Parses a whole regular file. Throws FormatError naming the file and, for malformed or too deeply nested
/// text and for bytes that are not UTF-8, line and byte.
Json read_json(const std::filesystem::path& path);

/// `value` as text, indented unless `indent` is -1. Numbers read back as the same bits; bytes that are not
/// UTF-8 become U+FFFD. Throws InternalError for NaN and infinity, which JSON does not have.
std::string to_json_text(const Json& value, int indent = -1);

/// A text as it is, and any other value as JSON text.
std::string string_or_json(const Json& value);

/// Replaces the file atomically: two-space indentation, a final newline. Throws FormatError when it can't be
/// written.
void write_json(const std::filesystem::path& path, const Json& value);

/// Parses one line of a JSONL file (jsonl_reader.h reads whole files); the error names `path` and
/// `line_number` (from 1). A repeated key in an object is an error here; in `read_json` the last one
/// counts, as in Python.
Json parse_json_line(const std::string& line, const std::filesystem::path& path, int64_t line_number);

}  // namespace cohort
