#include "cohort/records/completion_lines.h"

#include <algorithm>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/file_error.h"
#include "cohort/records/json_scan.h"

namespace cohort {
namespace {

constexpr size_t kPartBytes = 1 << 20;

bool is_line_of_step(std::string_view text, const CompletionEntry& entry) {
  if (text.size() != entry.length + size_t{1} || text.back() != '\n') return false;
  JsonMembers members(text);
  while (members.next()) {
    if (members.key() == "step") return json_integer(members.value()) == int64_t{entry.step};
  }
  return false;
}

}  // namespace

std::string CompletionLines::read(const CompletionEntry& entry) {
  std::optional<std::string> line = find(entry);
  if (!line) {
    refresh();
    line = find(entry);
  }
  if (!line) {
    throw FormatError(str(run_.string(), ": the completion at byte ", entry.place, " of the lines from step ",
                          entry.file, " on is gone: read the run again"));
  }
  return std::move(*line);
}

void CompletionLines::refresh() {
  files_ = std::make_shared<const CompletionFiles>(run_);
  for (Window& window : windows_) close(window);
}

std::optional<std::string> CompletionLines::find(const CompletionEntry& entry) {
  if (!files_ || !std::ranges::binary_search(files_->files(), int64_t{entry.file})) return std::nullopt;
  std::string text;
  try {
    text = files_->current() == int64_t{entry.file} ? read_current(entry) : read_compressed(entry);
  } catch (const FileError&) {  // moved since
    return std::nullopt;
  }
  if (!is_line_of_step(text, entry)) return std::nullopt;
  text.pop_back();
  return text;
}

std::string CompletionLines::read_current(const CompletionEntry& entry) const {
  const auto stream = files_->open(entry.file, entry.place);
  std::string text(entry.length + size_t{1}, '\0');
  text.resize(stream->read(text.data(), text.size()));
  return text;
}

std::string CompletionLines::read_compressed(const CompletionEntry& entry) {
  Window& window = window_at(entry.file, entry.place);
  const int64_t end = entry.place + entry.length + 1;
  while (window.begin + std::ssize(window.bytes) < end && read_more(window, entry.place)) {
  }
  const auto from = static_cast<size_t>(entry.place - window.begin);
  return from < window.bytes.size() ? window.bytes.substr(from, entry.length + size_t{1}) : "";
}

void CompletionLines::close(Window& window) {
  window.stream = nullptr;
  std::string().swap(window.bytes);  // an assignment would keep the memory
  window.begin = 0;
}

/// The window of a file that does not begin after `place`.
CompletionLines::Window& CompletionLines::window_at(uint32_t file, int64_t place) {
  const auto is_it = [&](const Window& window) { return window.stream && window.file == file; };
  if (!is_it(windows_[0])) std::swap(windows_[0], windows_[1]);
  Window& window = windows_[0];
  if (!is_it(window) || window.begin > place) {
    close(window);
    window.file = file;
    window.stream = files_->open(file);
    window.bytes.reserve(max_bytes_);  // which takes no memory before there are bytes
  }
  return window;
}

/// Adds bytes to a window. If there are too many, the other one's go, and those before `place`. False at the
/// end.
bool CompletionLines::read_more(Window& window, int64_t place) {
  part_.resize(kPartBytes);
  const size_t count = window.stream->read(part_.data(), part_.size());
  if (window.bytes.size() + windows_[1].bytes.size() + count > max_bytes_) close(windows_[1]);
  if (window.bytes.size() + count > max_bytes_) {
    const size_t before = std::min(window.bytes.size(), static_cast<size_t>(place - window.begin));
    const size_t num_dropped = std::min(before, max_bytes_ / 2);
    window.bytes.erase(0, num_dropped);
    window.begin += static_cast<int64_t>(num_dropped);
  }
  window.bytes.append(part_, 0, count);
  return count > 0;
}

}  // namespace cohort
