#include "cohort/tasks/row_file.h"

#include <glob.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "cohort/core/error.h"
#include "cohort/core/foreign_format.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRowsPerMark = 64;
constexpr size_t kFirstRead = 4096;

std::shared_ptr<const InputFile> decompressed_file(const std::shared_ptr<const InputFile>& file) {
  const std::string name = file->path().string();
  InputFile whole = InputFile::temporary(file->path());
  const auto stream = decompressed(file_stream(file), name);
  std::vector<char> buffer(size_t{1} << 18);
  while (const size_t count = stream->read(buffer.data(), buffer.size())) whole.append(buffer.data(), count);
  return std::make_shared<const InputFile>(std::move(whole));
}

std::shared_ptr<const InputFile> open_data(const fs::path& path) {
  auto file = std::make_shared<const InputFile>(path);
  char magic[kFormatBytes];
  const size_t count = file->read_at(magic, sizeof magic, 0);
  const bool is_plain = compression_of({magic, count}, path.string()) == Compression::kNone;
  return is_plain ? file : decompressed_file(file);
}

}  // namespace

RowFile::RowFile(const fs::path& path) : path_(path), data_(open_data(path)) {}

JsonlReader RowFile::reader() const { return {file_stream(data_), path_.string()}; }

void RowFile::add(uint64_t offset, int64_t line_number) {
  COHORT_CHECK(offsets_.empty() || offset > offsets_.back());
  if (num_rows() % kRowsPerMark == 0) marks_.push_back(line_number);
  offsets_.push_back(offset);
}

int64_t RowFile::count_newlines(uint64_t begin, uint64_t end) const {
  std::vector<char> buffer(std::min<uint64_t>(end - begin, 1 << 16));
  int64_t count = 0;
  while (begin < end) {
    const size_t size = data_->read_at(buffer.data(), std::min<uint64_t>(buffer.size(), end - begin), begin);
    if (size == 0) break;
    count += std::count(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size), '\n');
    begin += size;
  }
  return count;
}

int64_t RowFile::line_number(int64_t row) const {
  const int64_t mark = row / kRowsPerMark;
  return marks_.at(mark) + count_newlines(offsets_.at(mark * kRowsPerMark), offsets_.at(row));
}

std::string RowFile::line_at(uint64_t offset) const {
  std::string line;
  for (size_t size = kFirstRead; line.size() <= kMaxLineBytes; size *= 2) {
    const size_t begin = line.size();
    line.resize(begin + size);
    line.resize(begin + data_->read_at(line.data() + begin, size, offset + begin));
    if (const size_t end = line.find('\n', begin); end != std::string::npos) {
      line.resize(end);
      break;
    }
    if (line.size() < begin + size) break;  // the file's end
  }
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

Json RowFile::row(int64_t row) const {
  const std::string line = line_at(offsets_.at(row));
  if (data_->has_changed()) {
    throw FormatError(str(path_.string(), ": was changed while it was in use; begin again"));
  }
  return parse_json_line(line, path_, line_number(row));
}

std::vector<fs::path> expand_paths(const std::vector<std::string>& patterns) {
  std::vector<fs::path> paths;
  for (const std::string& pattern : patterns) {
    std::error_code error;
    if (pattern.find_first_of("*?[") == std::string::npos || fs::exists(pattern, error)) {
      paths.emplace_back(pattern);
      continue;
    }
    glob_t matches{};
    const int result = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches);
    std::vector<fs::path> found(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    ::globfree(&matches);
    if (result != 0 || found.empty()) throw ConfigError(str(pattern, ": no file matches this pattern"));
    std::sort(found.begin(), found.end());
    paths.insert(paths.end(), found.begin(), found.end());
  }
  std::set<fs::path> seen;
  for (const fs::path& path : paths) {
    if (!seen.insert(path.lexically_normal()).second) {
      throw ConfigError(str(path.string(), ": is named twice; sources with a weight repeat rows"));
    }
  }
  return paths;
}

}  // namespace cohort
