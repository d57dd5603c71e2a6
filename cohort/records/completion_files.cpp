#include "cohort/records/completion_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cohort/core/error.h"
#include "cohort/records/json_scan.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCompressed = ".jsonl.zst";
constexpr size_t kPartBytes = 1 << 20;

/// Two files at one path one after the other differ in it; 0: there is none.
uint64_t file_id(const fs::path& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

std::optional<int64_t> first_step_of(const InputFile& file) {
  std::string text;
  size_t end = std::string::npos;
  for (bool is_more = true; is_more && end == std::string::npos;) {
    const size_t size = text.size(), more = std::max<size_t>(size, 1 << 12);
    text.resize(size + more);
    text.resize(size + file.read_at(text.data() + size, more, size));
    is_more = text.size() > size;
    end = text.find('\n', size);
  }
  if (end == std::string::npos) return std::nullopt;
  JsonMembers members(std::string_view(text).substr(0, end));
  while (members.next()) {
    if (members.key() != "step") continue;
    if (const std::optional<int64_t> step = json_integer(members.value())) return step;
  }
  throw FormatError(str(file.path().string(), ":1: must be a JSON object with a step; restore the file"));
}

/// Calls f for the lines of a stream that begins at byte `place` of its file.
void split_lines(ByteStream& stream, int64_t place, const OnLine& f) {
  std::string part(kPartBytes, '\0'), begun;  // a line that has no end yet
  while (const size_t count = stream.read(part.data(), part.size())) {
    std::string_view rest(part.data(), count);
    for (size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      std::string_view line = rest.substr(0, end);
      if (!begun.empty()) line = begun += line;
      f(line, place);
      place += std::ssize(line) + 1;
      begun.clear();
    }
    begun += rest;
  }
}

}  // namespace

fs::path compressed_folder(const fs::path& run) { return run / "completions"; }

fs::path compressed_file(const fs::path& folder, int64_t first_step) {
  char name[32];
  std::snprintf(name, sizeof name, "%08lld", static_cast<long long>(first_step));
  return folder / str(name, kCompressed);
}

std::vector<int64_t> first_steps(const fs::path& folder) {
  std::vector<int64_t> steps;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kCompressed)) steps.push_back(std::strtoll(name.c_str(), nullptr, 10));
  }
  std::ranges::sort(steps);
  return steps;
}

std::optional<int64_t> first_step_in(const fs::path& path) {
  return fs::exists(path) ? first_step_of(InputFile(path)) : std::nullopt;
}

CompletionFiles::CompletionFiles(const fs::path& run)
    : path_(run / "completions.jsonl"), folder_(compressed_folder(run)) {
  constexpr int kTries = 100;  // a run moves lines once in many steps
  for (int i = 0; i < kTries && !read_once(); ++i) {
  }
}

// The current file first: lines that are moved away meanwhile are still in it. False if it was replaced: by
// one that has lines of compressed files again, the files of which may be deleted already.
bool CompletionFiles::read_once() {
  current_id_ = file_id(path_);
  current_file_ = current_id_ != 0 ? std::make_shared<const InputFile>(path_) : nullptr;
  current_ = current_file_ ? first_step_of(*current_file_) : std::nullopt;
  files_ = first_steps(folder_);
  if (current_) {
    std::erase_if(files_, [&](int64_t step) { return step >= *current_; });
    files_.push_back(*current_);
  }
  return file_id(path_) == current_id_;
}

fs::path CompletionFiles::path_of(int64_t first_step) const {
  return current_ == first_step ? path_ : compressed_file(folder_, first_step);
}

std::unique_ptr<ByteStream> CompletionFiles::open(int64_t first_step, int64_t begin) const {
  if (current_ == first_step) return file_stream(current_file_, static_cast<uint64_t>(begin));
  const fs::path path = path_of(first_step);
  auto stream = decompressed(file_stream(std::make_shared<const InputFile>(path)), path.string());
  std::string part(kPartBytes, '\0');
  while (begin > 0) {
    const size_t count = stream->read(part.data(), std::min(part.size(), static_cast<size_t>(begin)));
    if (count == 0) break;
    begin -= static_cast<int64_t>(count);
  }
  return stream;
}

void CompletionFiles::for_each_line(int64_t first_step, int64_t begin, const OnLine& f) const {
  split_lines(*open(first_step, begin), begin, f);
}

bool CompletionFiles::has_files_of(const CompletionFiles& other) const {
  return files_ == other.files_ && current_ == other.current_ && current_id_ == other.current_id_;
}

}  // namespace cohort
