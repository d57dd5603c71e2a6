#include "cohort/core/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <mutex>

#include "libs/common/str.h"

namespace cohort {
namespace {

std::mutex terminal_mutex;   // of all below, and of what is written
size_t num_shown_lines = 0;  // of progress on the terminal; the cursor is in the line after them

winsize terminal_size() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 && size.ws_row > 1;
  return is_known ? size : winsize{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
}

/// What takes the progress off the terminal.
std::string erasure() {
  const std::string text = num_shown_lines > 0 ? str("\033[", num_shown_lines, "A\r\033[J") : "";
  num_shown_lines = 0;
  return text;
}

void write_whole(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

ProgressDisplay::ProgressDisplay(double seconds_between_lines)
    : is_terminal_(::isatty(STDERR_FILENO) != 0),
      seconds_between_lines_(seconds_between_lines),
      last_line_s_(-std::numeric_limits<double>::infinity()) {}

ProgressDisplay::~ProgressDisplay() { finish(); }

int64_t ProgressDisplay::width() const { return terminal_size().ws_col; }

int64_t ProgressDisplay::height() const { return terminal_size().ws_row; }

void ProgressDisplay::show(const std::string& text, double now_s) {
  if (is_terminal_) {
    draw({text.substr(0, static_cast<size_t>(width()) - 1)});
    return;
  }
  text_ = text;
  is_written_ = false;
  if (now_s - last_line_s_ < seconds_between_lines_) return;
  last_line_s_ = now_s;
  finish();
}

void ProgressDisplay::draw(const std::vector<std::string>& lines) {
  const std::lock_guard lock(terminal_mutex);
  std::string text = erasure();
  const auto count = std::min(lines.size(), static_cast<size_t>(terminal_size().ws_row - 1));
  for (size_t i = 0; i < count; ++i) text += lines[i] + "\n";
  write_whole(text);
  num_shown_lines = count;
}

void ProgressDisplay::finish() {
  const std::lock_guard lock(terminal_mutex);
  num_shown_lines = 0;
  if (!is_written_) write_whole(text_ + "\n");
  is_written_ = true;
}

void write_above_progress(const std::string& line) {
  const std::lock_guard lock(terminal_mutex);
  write_whole(erasure() + line + "\n");
}

}  // namespace cohort
