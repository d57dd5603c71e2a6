// What a conversation needs of a terminal: lines of input, and Ctrl-C that does not end the program.
#pragma once

#include <string>

namespace cohort::cli {

/// While it lives, Ctrl-C (SIGINT) is a flag instead of the end of the program. One at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Whether Ctrl-C was pressed since the last call.
  bool take();

  /// A file descriptor that is readable while there is something to take.
  int descriptor() const { return descriptor_; }

 private:
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
