#include "apps/cli/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "cohort/core/error.h"

namespace cohort::cli {
namespace {

volatile sig_atomic_t event_descriptor = -1, newest_signal = 0;

void note_interrupt(int number) {
  newest_signal = number;
  const int saved = errno;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_descriptor, &one, sizeof one);
  errno = saved;
}

void handle(const std::vector<int>& signals, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // writes of an answer go on; poll() returns in any case
  for (const int number : signals) sigaction(number, &action, nullptr);
}

}  // namespace

Interrupts::Interrupts(std::vector<int> signals)
    : signals_(std::move(signals)), descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  COHORT_CHECK(descriptor_ >= 0);
  event_descriptor = descriptor_;
  handle(signals_, note_interrupt);
}

Interrupts::~Interrupts() {
  handle(signals_, SIG_DFL);
  close(descriptor_);
}

int Interrupts::last_signal() { return newest_signal; }

bool Interrupts::take() {
  uint64_t count = 0;
  return ::read(descriptor_, &count, sizeof count) > 0;
}

LineResult LineReader::read(std::string& line) {
  while (!take_line(line)) {
    pollfd waits[2] = {{descriptor_, POLLIN, 0},
                       {interrupts_ != nullptr ? interrupts_->descriptor() : -1, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR) return LineResult::kEnd;
    if (interrupts_ != nullptr && interrupts_->take()) {
      pending_.clear();
      return LineResult::kInterrupted;
    }
    if (waits[0].revents == 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(descriptor_, buffer, sizeof buffer);
    if (count > 0) {
      pending_.append(buffer, static_cast<size_t>(count));
    } else if (count == 0 && !pending_.empty()) {
      pending_ += '\n';
    } else if (count == 0 || errno != EINTR) {
      return LineResult::kEnd;
    }
  }
  return LineResult::kLine;
}

bool LineReader::take_line(std::string& line) {
  const size_t end = pending_.find('\n');
  if (end == std::string::npos) return false;
  line = pending_.substr(0, end > 0 && pending_[end - 1] == '\r' ? end - 1 : end);
  pending_.erase(0, end + 1);
  return true;
}

}  // namespace cohort::cli
