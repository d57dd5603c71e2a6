#include "cohort/train/run/training_panel.h"

#include <cstdlib>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/view/panel.h"

namespace cohort {
namespace {

constexpr double kSecondsOfPanel = 1.0, kSecondsOfSample = 20.0;

}  // namespace

void TrainingPanel::show(const std::string& line, double now_s) {
  if (!display_.is_terminal() || is_unreadable_) {
    display_.show(line, now_s);
    return;
  }
  if (now_s - drawn_s_ < kSecondsOfPanel) return;
  drawn_s_ = now_s;
  try {
    draw(now_s);
  } catch (const UserError& error) {
    is_unreadable_ = true;
    log_warn("no panel from here on: ", error.what());
  }
}

void TrainingPanel::draw(double now_s) {
  if (view_ == nullptr) view_ = std::make_unique<RunView>(run_.root());
  view_->update();
  view_->check();
  const PanelData data = panel_data(*view_, static_cast<int64_t>(now_s / kSecondsOfSample));
  display_.draw(panel_lines(data, {display_.width() - 1, std::getenv("NO_COLOR") == nullptr}));
}

}  // namespace cohort
