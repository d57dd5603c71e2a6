// What a terminal shows of a run while it trains.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/core/progress.h"
#include "cohort/records/run_directory.h"
#include "cohort/view/run_view.h"

namespace cohort {

/// Reads the run's own records, as `cohort watch` does from elsewhere: curves, findings and a completion now
/// and then.
class TrainingPanel {
 public:
  explicit TrainingPanel(const RunDirectory& run) : run_(run) {}

  /// After a step, whose records are written: redraws a terminal at most once a second, and writes `line`
  /// elsewhere. `now_s` is any monotonic clock in seconds. Records that can't be read cost the panel, not the
  /// run.
  void show(const std::string& line, double now_s);

  /// Leaves the newest state where it is.
  void finish();

 private:
  void draw();
  void draw_records();

  const RunDirectory& run_;
  ProgressDisplay display_;
  std::unique_ptr<RunView> view_;
  bool is_unreadable_ = false;
  bool is_drawn_ = true;  ///< what `show` was last called for
  std::vector<RunFinding> findings_;
  double now_s_ = 0.0, drawn_s_ = -1e9, found_s_ = -1e9;
};

}  // namespace cohort
