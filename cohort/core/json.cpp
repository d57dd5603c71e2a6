#include "cohort/core/json.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"

namespace cohort {
namespace {

/// Deeper text would overflow the stack of code that walks values recursively.
constexpr int kMaxDepth = 256;

/// The offset of the bracket that opens level kMaxDepth + 1, or npos.
size_t too_deep_at(const std::string& text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return i;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return std::string::npos;
}

/// The library's message without its prefix and position, which are stated in our own words.
std::string reason_of(const Json::parse_error& error) {
  const std::string text = error.what();
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

/// `first_line` is the number of the text's first line; offsets count from 1 in the text.
Json parse_text(const std::string& text, const std::filesystem::path& path, int64_t first_line) {
  const auto where = [&](size_t offset) {
    const auto end = text.begin() + static_cast<int64_t>(std::min(offset, text.size()));
    return str(path.string(), ":", first_line + std::count(text.begin(), end, '\n'), ": ");
  };
  if (const size_t offset = too_deep_at(text); offset != std::string::npos) {
    throw FormatError(
        str(where(offset), "JSON nested deeper than ", kMaxDepth, " levels at byte ", offset + 1));
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    throw FormatError(str(where(offset), "malformed JSON at byte ", error.byte, ": ", reason_of(error)));
  } catch (const Json::exception& error) {
    throw FormatError(str(where(0), "unusable JSON: ", error.what()));
  }
}

std::ifstream open_for_reading(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path))
    throw FormatError(str(path.string(), ": can't be read; does the file exist?"));
  return file;
}

void check_finite(const Json& value) {
  if (value.is_number_float())
    COHORT_CHECK(std::isfinite(value.get<double>()), "JSON has no NaN and no infinity.");
  if (value.is_structured()) {
    for (const Json& child : value) check_finite(child);
  }
}

}  // namespace

std::string to_json_text(const Json& value, int indent) {
  check_finite(value);
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json read_json(const std::filesystem::path& path) {
  std::ifstream file = open_for_reading(path);
  return parse_text({std::istreambuf_iterator<char>(file), {}}, path, 1);
}

void write_json(const std::filesystem::path& path, const Json& value) {
  write_file_atomically(path, to_json_text(value, 2) + "\n");
}

Json parse_json_line(const std::string& line, const std::filesystem::path& path, int64_t line_number) {
  return parse_text(line, path, line_number);
}

std::vector<Json> read_jsonl(const std::filesystem::path& path) {
  std::ifstream file = open_for_reading(path);
  std::vector<Json> objects;
  std::string line;
  for (int64_t line_number = 1; std::getline(file, line); ++line_number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Json value = parse_json_line(line, path, line_number);
    if (!value.is_object())
      throw FormatError(str(path.string(), ":", line_number, ": expected a JSON object on this line"));
    objects.push_back(std::move(value));
  }
  return objects;
}

}  // namespace cohort
