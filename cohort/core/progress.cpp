#include "cohort/core/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <limits>

namespace cohort {
namespace {

size_t terminal_width(std::FILE* stream) {
  winsize size{};
  const bool is_known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col : 80;
}

}  // namespace

ProgressLine::ProgressLine(std::FILE* stream, double seconds_between_lines)
    : stream_(stream),
      is_terminal_(::isatty(::fileno(stream)) != 0),
      seconds_between_lines_(seconds_between_lines),
      last_line_s_(-std::numeric_limits<double>::infinity()) {}

ProgressLine::~ProgressLine() { finish(); }

void ProgressLine::show(const std::string& text, double now_s) {
  text_ = text;
  is_written_ = false;
  if (is_terminal_) {
    std::fprintf(stream_, "\r%s\033[K", text.substr(0, terminal_width(stream_) - 1).c_str());
    std::fflush(stream_);
  } else if (now_s - last_line_s_ >= seconds_between_lines_) {
    last_line_s_ = now_s;
    finish();
  }
}

void ProgressLine::finish() {
  if (is_written_) return;
  std::fprintf(stream_, is_terminal_ ? "\r%s\033[K\n" : "%s\n", text_.c_str());
  std::fflush(stream_);
  is_written_ = true;
}

}  // namespace cohort
