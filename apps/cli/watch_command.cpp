// cohort watch: a run that runs elsewhere, in the terminal.
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "apps/cli/command.h"
#include "apps/cli/terminal.h"
#include "cohort/view/panel.h"

namespace cohort::cli {
namespace {

constexpr int64_t kTicksOfSample = 10;  // of a second each

struct WatchConfig {
  int64_t interval_s = 1;
  bool once = false;

  void describe(FieldVisitor& f) {
    f("interval_s", interval_s, "Seconds between two looks at the run's files.", at_least(1));
    f("once", once, "Show the present state and end.");
  }
};

/// The size of the terminal; nothing if standard output is none.
std::optional<winsize> terminal_size() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return std::nullopt;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) size = winsize{24, 80, 0, 0};
  return size;
}

/// Shows the run as it is: in a terminal as a panel in place of the one before, elsewhere as a line for each
/// new step.
class Display {
 public:
  void show(RunView& run) {
    const std::optional<winsize> size = terminal_size();
    PanelData data = panel_data(run, size ? std::optional(num_shown_++ / kTicksOfSample) : std::nullopt);
    if (!size) {
      if (data.step != last_step_ || last_step_ < 0) std::cout << plain_line(data) << std::endl;
      last_step_ = data.step;
      return;
    }
    data.findings = run.findings();
    std::vector<std::string> lines = panel_lines(data, {size->ws_col, std::getenv("NO_COLOR") == nullptr});
    const auto most = static_cast<size_t>(std::max(1, size->ws_row - 1));
    if (lines.size() > most) lines.resize(most);
    std::cout << screen_.redraw(lines) << std::flush;
  }

 private:
  PanelScreen screen_;
  int64_t num_shown_ = 0, last_step_ = -1;
};

}  // namespace

int watch_command(const Command& self, const Arguments& arguments) {
  WatchConfig config;
  const auto path = read_one_argument(self, arguments, config, "the directory of a run");
  if (!path) return 0;
  Interrupts interrupts;
  RunView run(*path);
  Display display;
  display.show(run);
  while (!config.once && !run.is_finished()) {
    pollfd wait{interrupts.descriptor(), POLLIN, 0};
    poll(&wait, 1, static_cast<int>(std::min<int64_t>(config.interval_s, 3600)) * 1000);
    if (interrupts.take()) break;
    run.update();
    run.check();
    display.show(run);
  }
  return 0;
}

}  // namespace cohort::cli
