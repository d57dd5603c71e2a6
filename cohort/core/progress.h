// Live progress on standard error: lines that are redrawn in place on a terminal, a plain line every few
// seconds elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

class ProgressDisplay {
 public:
  /// `seconds_between_lines` applies if standard error is no terminal.
  explicit ProgressDisplay(double seconds_between_lines = 5.0);

  /// Ends the display, as `finish` does.
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  bool is_terminal() const { return is_terminal_; }

  /// Columns and rows of the terminal; 80 and 24 if they are not known.
  int64_t width() const;
  int64_t height() const;

  /// Shows `text`. A terminal has it in place of what was shown before, cut to its width. `now_s` is any
  /// monotonic clock in seconds.
  void show(const std::string& text, double now_s);

  /// On a terminal: shows lines, each of at most `width` columns, in place of what was shown before.
  void draw(const std::vector<std::string>& lines);

  /// Leaves the last text where it is, so that later output begins below it.
  void finish();

 private:
  bool is_terminal_;
  double seconds_between_lines_;
  double last_line_s_;
  std::string text_;        ///< the last one given
  bool is_written_ = true;  ///< `text_` is on the stream as a whole line
};

/// Writes a line to standard error, above the progress that a terminal shows; the next `show` or `draw`
/// brings that back. Whole even when several threads write.
void write_above_progress(const std::string& line);

}  // namespace cohort
