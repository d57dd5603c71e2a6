// A run in a terminal: what it does now, in a few lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/explain/run_finding.h"
#include "cohort/records/figures.h"
#include "cohort/view/run_view.h"

namespace cohort {

/// A completion to show now and then.
struct PanelSample {
  int64_t step = 0;
  std::optional<double> reward{};
  std::string prompt{}, completion{};
};

/// What a panel is made of.
struct PanelData {
  std::string name{};     ///< of the run
  int64_t step = 0;       ///< the newest one
  int64_t max_steps = 0;  ///< 0 if it is not known
  bool is_finished = false;
  const Figures* figures = nullptr;
  std::span<const RunFinding> findings{};
  std::optional<PanelSample> sample{};
};

struct PanelOptions {
  int64_t width = 80;       ///< columns of the terminal; lines are cut to it
  bool has_colours = true;  ///< escape sequences for colours; the only ones in a line
};

/// The lines of the panel, without line feeds. Texts of the run are made harmless (visible_text.h).
std::vector<std::string> panel_lines(const PanelData& data, const PanelOptions& options);

/// The same as one line, for output that is no terminal: "step 12 of 400  reward 0.25  ...".
std::string plain_line(const PanelData& data);

/// The last values as blocks of eight heights, `width` at most, each the mean of equally many values; a value
/// that is not finite is a space. All the same: the lowest block.
std::string sparkline(std::span<const double> values, int64_t width);

/// Seconds until the last step, by the median time of the newest 20 steps; nothing if it is not known.
std::optional<double> seconds_left(const PanelData& data);

/// The panel's data of a run. `sample_number` chooses the completion among those of the newest step; none
/// shows none.
PanelData panel_data(RunView& run, std::optional<int64_t> sample_number);

/// Redraws panels in place on a terminal.
class PanelScreen {
 public:
  /// What a terminal has to be sent so that it shows `lines` where it showed the lines before.
  std::string redraw(const std::vector<std::string>& lines);

 private:
  size_t num_lines_ = 0;
};

}  // namespace cohort
