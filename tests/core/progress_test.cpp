#include "cohort/core/progress.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cohort/core/log.h"

namespace cohort {
namespace {

/// What `write` leaves on standard error, which is no terminal.
template <typename F>
std::string written(F write) {
  testing::internal::CaptureStderr();
  write();
  return testing::internal::GetCapturedStderr();
}

/// The bytes that a terminal of 20 columns and 5 rows gets from `write`, in a process of its own.
template <typename F>
std::string sent_to_terminal(F write) {
  winsize size{.ws_row = 5, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    write();
    _exit(0);
  }
  std::string bytes;
  char part[256];
  for (ssize_t count; (count = read(terminal, part, sizeof part)) > 0;) bytes.append(part, count);
  waitpid(child, nullptr, 0);
  close(terminal);
  std::erase(bytes, '\r');  // which the terminal adds to each line feed
  return bytes;
}

TEST(ProgressDisplay, WritesALineEveryFewSecondsAndTheLast) {
  EXPECT_EQ(written([] {
              ProgressDisplay progress(5.0);
              progress.show("step 1", 100.0);
              progress.show("step 2", 104.9);
              progress.show("step 3", 105.0);
              progress.show("step 4", 106.0);
            }),
            "step 1\nstep 3\nstep 4\n");
}

TEST(ProgressDisplay, FinishesOnce) {
  EXPECT_EQ(written([] {
              ProgressDisplay progress(5.0);
              progress.finish();
              progress.show("step 1", 0.0);
              progress.finish();
            }),
            "step 1\n");
}

TEST(ProgressDisplay, RedrawsLinesInPlaceAndLogsAboveThem) {
  EXPECT_EQ(sent_to_terminal([] {
              ProgressDisplay progress;
              progress.draw({"one", "two"});
              log_warn("slow");
              progress.draw({"three"});
              progress.finish();
              log_info("end");
            }),
            "one\ntwo\n\033[2A\033[Jwarning: slow\nthree\nend\n");
}

TEST(ProgressDisplay, KeepsToTheTerminal) {
  EXPECT_EQ(sent_to_terminal([] {
              ProgressDisplay progress;
              progress.draw({"1", "2", "3", "4", "5", "6"});
              progress.show("a text of more than twenty columns", 0.0);
            }),
            "1\n2\n3\n4\n\033[4A\033[Ja text of more than\n");
}

TEST(Log, WritesOneLineToStandardError) {
  EXPECT_EQ(written([] {
              log_info("step ", 3);
              log_warn("slow");
            }),
            "step 3\nwarning: slow\n");
}

}  // namespace
}  // namespace cohort
