// The parts of a report. Private to report.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cohort/view/document.h"
#include "cohort/view/interval.h"
#include "cohort/view/run_view.h"

namespace cohort {

/// A figure at the beginning and at the end of a run.
struct BeforeAfter {
  MeanInterval before, after;
  int64_t first_step = 0, last_step = 0;
};

/// Means over the first and the last tenth of a figure's steps, at least three each where there are six; of
/// an evaluation (`eval_...`) and of fewer steps the first and the last value. Nothing for a figure without
/// values.
std::optional<BeforeAfter> before_and_after(const Figures& figures, const std::string& name);

/// "What was trained": a row for each property, a column for each run.
Table properties_table(std::span<const RunView> runs);

/// "How": the settings that a reader asks for first, as far as the recipes have them.
Table settings_table(std::span<const RunView> runs);

/// Before and after for the figures that show the result.
Table result_table(std::span<const RunView> runs);

/// What the main figure did: a sentence for each run, but one with the interval over runs for those whose
/// recipes differ in nothing but the seed and the table `run`.
Block headline(std::span<const RunView> runs);

/// Which of several runs are averaged.
std::string averaging_text(std::span<const RunView> runs);

/// The figures of files of `cohort eval --output`. Throws FormatError for other files.
Table evaluations_table(std::span<const std::filesystem::path> files);

std::vector<Chart> curves(std::span<const RunView> runs);

/// One prompt solved before and after, one newly solved, one that still fails, as far as the run has such
/// prompts.
std::vector<Block> examples(RunView& run);

/// What find_problems() says of the run.
std::vector<Block> health(RunView& run);

/// Commands and recipes, and the version of the program that writes the report unless it is empty.
std::vector<Block> repetition(std::span<const RunView> runs, const std::string& version);

}  // namespace cohort
