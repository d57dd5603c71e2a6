// One line of live progress: rewritten in place on a terminal, a plain line every few seconds otherwise.
#pragma once

#include <cstdio>
#include <string>

namespace cohort {

class ProgressLine {
 public:
  /// Writes to `stream`; `seconds_between_lines` applies if that is not a terminal.
  explicit ProgressLine(std::FILE* stream = stderr, double seconds_between_lines = 5.0);

  /// Ends the line, as `finish` does.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows `text`, cut to the terminal's width. `now_s` is any monotonic clock in seconds.
  void show(const std::string& text, double now_s);

  /// Ends the line with the last text, so that later output begins on a new line.
  void finish();

 private:
  std::FILE* stream_;
  bool is_terminal_;
  double seconds_between_lines_;
  double last_line_s_;
  std::string text_;        ///< the last one given
  bool is_written_ = true;  ///< `text_` is on the stream as a whole line
};

}  // namespace cohort
