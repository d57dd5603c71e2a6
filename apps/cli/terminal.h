// What a conversation needs of a terminal: lines of input, and Ctrl-C that does not end the program.
#pragma once

#include <csignal>
#include <string>
#include <vector>

namespace cohort::cli {

/// While it lives, Ctrl-C (SIGINT) is a flag instead of the end of the program, and so is each other signal
/// of `signals`. One at a time.
class Interrupts {
 public:
  explicit Interrupts(std::vector<int> signals = {SIGINT});
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Whether Ctrl-C was pressed, or another of the signals came, since the last call.
  bool take();

  /// The signal that came last.
  static int last_signal();

  /// A file descriptor that is readable while there is something to take.
  int descriptor() const { return descriptor_; }

 private:
  std::vector<int> signals_;
  int descriptor_;
};

enum class LineResult { kLine, kEnd, kInterrupted };

/// Reads lines of a file descriptor as they come.
class LineReader {
 public:
  /// `interrupts` may be null.
  LineReader(int descriptor, Interrupts* interrupts) : descriptor_(descriptor), interrupts_(interrupts) {}

  /// Waits for a line, which `line` gets without its end. A last line may lack its end.
  LineResult read(std::string& line);

 private:
  bool take_line(std::string& line);

  int descriptor_;
  Interrupts* interrupts_;
  std::string pending_;  // read, not given yet
};

}  // namespace cohort::cli
