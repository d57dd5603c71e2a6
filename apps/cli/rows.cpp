#include "apps/cli/rows.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include "cohort/core/error.h"

namespace cohort::cli {

namespace {

/// Hands out a line as soon as it is there, so that a program at the other end may wait for the answer.
class LineStream : public ByteStream {
 public:
  explicit LineStream(std::istream& stream) : stream_(stream) {}

  size_t read(char* out, size_t size) override {
    size_t count = 0;
    while (count < size) {
      const int byte = stream_.get();
      if (byte == std::istream::traits_type::eof()) break;
      out[count++] = static_cast<char>(byte);
      if (byte == '\n') break;
    }
    return count;
  }

 private:
  std::istream& stream_;
};

}  // namespace

void for_each_row(const std::string& path, const OnRow& f) { cohort::for_each_row(JsonlReader(path), f); }

void for_each_row(std::istream& stream, const std::string& name, const OnRow& f) {
  cohort::for_each_row(JsonlReader(std::make_unique<LineStream>(stream), name), f);
}

std::string read_string(const Json& row, const char* key, const std::string& where) {
  if (!row.contains(key) || !row.at(key).is_string())
    throw FormatError(str(where, ": \"", key, "\" must be a string"));
  return row.at(key).get<std::string>();
}

std::vector<int32_t> read_ids(const Json& row, const char* key, const std::string& where) {
  if (!row.contains(key) || !row.at(key).is_array()) {
    throw FormatError(str(where, ": \"", key, "\" must be a list of token ids"));
  }
  std::vector<int32_t> ids;
  for (const Json& id : row.at(key)) {
    const bool fits = id.is_number_integer() && id.get<int64_t>() >= 0 &&
                      id.get<int64_t>() <= std::numeric_limits<int32_t>::max();
    if (!fits) throw FormatError(str(where, ": \"", key, "\" holds ", id.dump(), ", which is no token id"));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

void check_output(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw FormatError(str(path, ": the folder ", folder.string(), " does not exist; make it first"));
  }
  if (std::filesystem::is_directory(path)) throw FormatError(str(path, ": is a folder; name a file"));
}

void write_result(const std::string& path, const Json& value) {
  if (!std::filesystem::exists(path) ||
      std::filesystem::is_regular_file(std::filesystem::symlink_status(path))) {
    write_json(path, value);
    return;
  }
  std::ofstream file(path);
  file << to_json_text(value, 2) << "\n";
  if (!file.flush()) throw FormatError(str(path, ": can't be written"));
}

JsonlWriter open_output(const std::string& path) {
  check_output(path);
  // What is no regular file, such as /dev/null, is written to as it is. So is /dev/stdout, which is a link to
  // a file where the shell has led it to one; other links stay, and what they lead to is written anew.
  if (std::filesystem::is_regular_file(std::filesystem::symlink_status(path))) {
    std::filesystem::remove(path);
  } else if (std::filesystem::is_regular_file(path) && !path.starts_with("/dev/") &&
             !path.starts_with("/proc/")) {
    std::filesystem::resize_file(path, 0);
  }
  return JsonlWriter(path);
}

}  // namespace cohort::cli
