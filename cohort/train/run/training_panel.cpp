#include "cohort/train/run/training_panel.h"

#include <cstdlib>

#include "cohort/core/error.h"
#include "cohort/core/log.h"
#include "cohort/view/panel.h"

namespace cohort {
namespace {

constexpr double kSecondsOfPanel = 1.0, kSecondsOfSample = 20.0;
constexpr double kSecondsOfFindings = 20.0;  // rules read the whole run

}  // namespace

void TrainingPanel::show(const std::string& line, double now_s) {
  if (!display_.is_terminal() || is_unreadable_) {
    display_.show(line, now_s);
    return;
  }
  now_s_ = now_s;
  is_drawn_ = false;
  if (now_s - drawn_s_ >= kSecondsOfPanel) draw();
}

void TrainingPanel::finish() {
  if (!is_drawn_ && !is_unreadable_) draw();
  display_.finish();
}

void TrainingPanel::draw() {
  drawn_s_ = now_s_;
  is_drawn_ = true;
  try {
    draw_records();
  } catch (const UserError& error) {
    is_unreadable_ = true;
    log_warn("no panel from here on: ", error.what());
  }
}

void TrainingPanel::draw_records() {
  if (view_ == nullptr) view_ = std::make_unique<RunView>(run_.root());
  view_->update();
  view_->check();
  PanelData data = panel_data(*view_, static_cast<int64_t>(now_s_ / kSecondsOfSample));
  if (now_s_ - found_s_ >= kSecondsOfFindings) {
    findings_ = view_->findings();
    found_s_ = now_s_;
  }
  data.findings = findings_;
  display_.draw(panel_lines(data, {display_.width() - 1, std::getenv("NO_COLOR") == nullptr}));
}

}  // namespace cohort
