#include "cohort/view/panel.h"

#include <algorithm>
#include <cmath>

#include "cohort/core/units.h"
#include "cohort/view/interval.h"
#include "libs/common/str.h"
#include "libs/common/visible_text.h"

namespace cohort {
namespace {

struct PanelFigure {
  const char* label;
  std::vector<const char*> names;  ///< the first one that the run has
};

/// The rows of the panel.
const std::vector<PanelFigure>& panel_figures() {
  static const std::vector<PanelFigure> figures{
      {"reward", {"reward", "attacker/reward", "mean_reward"}},
      {"accuracy",
       {"rewards/accuracy/mean", "eval_reward", "accuracy", "rewards/accuracies", "eval_accuracy"}},
      {"loss", {"loss"}},
      {"length", {"completions/mean_length", "attacker/completions/mean_length"}},
      {"entropy", {"entropy", "attacker/entropy"}},
      {"kl", {"kl"}},
      {"tokens/s", {"perf/throughput"}}};
  return figures;
}

const FigureColumn* first_of(const Figures& figures, const PanelFigure& wanted) {
  for (const char* name : wanted.names) {
    const FigureColumn* column = figures.find(name);
    if (column != nullptr && !column->values.empty()) return column;
  }
  return nullptr;
}

/// The newest value that is a number; NaN without one.
double newest(const FigureColumn& column) {
  const auto found =
      std::find_if(column.values.rbegin(), column.values.rend(), [](double v) { return std::isfinite(v); });
  return found != column.values.rend() ? *found : std::nan("");
}

std::string padded(const std::string& text, int64_t width, bool to_the_right = false) {
  const int64_t missing = std::max<int64_t>(0, width - num_columns(text));
  const std::string spaces(static_cast<size_t>(missing), ' ');
  return to_the_right ? spaces + text : text + spaces;
}

std::string steps_text(const PanelData& data) {
  return data.max_steps > 0 ? str("step ", data.step, " of ", data.max_steps) : str("step ", data.step);
}

std::string head_line(const PanelData& data) {
  std::string line = visible_line(data.name) + "  " + steps_text(data);
  if (data.is_finished) return line + "  finished";
  const std::optional<double> left = seconds_left(data);
  return left ? line + "  " + format_duration(*left) + " left" : line;
}

std::string progress_bar(const PanelData& data, int64_t width) {
  if (data.max_steps <= 0) return "";
  const double share =
      std::clamp(static_cast<double>(data.step) / static_cast<double>(data.max_steps), 0.0, 1.0);
  const auto full = static_cast<int64_t>(share * static_cast<double>(width));
  std::string bar;
  for (int64_t i = 0; i < width; ++i) bar += i < full ? "█" : "░";
  return bar;
}

const char* colour_of(FindingLevel level) {
  switch (level) {
    case FindingLevel::kProblem:
      return "\x1b[31m";
    case FindingLevel::kWarning:
      return "\x1b[33m";
    case FindingLevel::kNote:
      return "\x1b[36m";
  }
  return "";
}

void add_findings(const PanelData& data, const PanelOptions& options, std::vector<std::string>& lines) {
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < std::min(kMost, data.findings.size()); ++i) {
    const RunFinding& finding = data.findings[i];
    const std::string text = str(to_string(finding.level), ": ", visible_line(finding.text));
    const std::string cut = first_columns(text, options.width);
    lines.push_back(options.has_colours ? colour_of(finding.level) + cut + "\x1b[0m" : cut);
  }
  if (data.findings.size() > kMost)
    lines.push_back(
        first_columns(str("and ", data.findings.size() - kMost, " more: cohort explain RUN"), options.width));
}

void add_sample(const PanelSample& sample, int64_t width, std::vector<std::string>& lines) {
  const std::string reward = sample.reward ? short_number(*sample.reward) : "none";
  lines.push_back(first_columns(str("sample of step ", sample.step, ", reward ", reward), width));
  lines.push_back(first_columns("  > " + visible_line(first_bytes(sample.prompt, 2000)), width));
  lines.push_back(first_columns("  < " + visible_line(first_bytes(sample.completion, 2000)), width));
}

}  // namespace

std::string sparkline(std::span<const double> values, int64_t width) {
  constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (width <= 0 || values.empty()) return "";
  const auto count = static_cast<int64_t>(values.size());
  const int64_t num_blocks = std::min(width, count);
  std::vector<double> means;
  for (int64_t i = 0; i < num_blocks; ++i) {
    const auto begin = static_cast<size_t>(i * count / num_blocks),
               end = static_cast<size_t>((i + 1) * count / num_blocks);
    means.push_back(mean_interval(values.subspan(begin, end - begin)).mean);
  }
  double low = INFINITY, high = -INFINITY;
  for (const double mean : means) {
    if (!std::isfinite(mean)) continue;
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  std::string line;
  for (const double mean : means) {
    const double height = high > low ? (mean - low) / (high - low) * 7.999 : 0.0;
    line += std::isfinite(mean) ? kBlocks[static_cast<size_t>(height)] : " ";
  }
  return line;
}

std::optional<double> seconds_left(const PanelData& data) {
  const FigureColumn* times = data.figures != nullptr ? data.figures->find("timing_s/step") : nullptr;
  if (times == nullptr || times->values.empty() || data.max_steps <= data.step) return std::nullopt;
  const size_t count = std::min<size_t>(20, times->values.size());
  std::vector<double> newest_times(times->values.end() - static_cast<int64_t>(count), times->values.end());
  std::ranges::nth_element(newest_times, newest_times.begin() + static_cast<int64_t>(count / 2));
  double step_s = newest_times[count / 2];
  if (const FigureColumn* testing = data.figures->find("timing_s/testing")) {
    for (const double seconds : testing->values)
      step_s += std::isfinite(seconds) ? seconds / static_cast<double>(times->values.size()) : 0.0;
  }
  return std::isfinite(step_s) ? std::optional(step_s * static_cast<double>(data.max_steps - data.step))
                               : std::nullopt;
}

std::vector<std::string> panel_lines(const PanelData& data, const PanelOptions& options) {
  constexpr int64_t kLabel = 9, kValue = 10;
  const int64_t width = std::max<int64_t>(options.width, 1);
  std::vector<std::string> lines;
  const std::string head = first_columns(head_line(data), width);
  lines.push_back(options.has_colours ? "\x1b[1m" + head + "\x1b[0m" : head);
  if (const std::string bar = progress_bar(data, std::min<int64_t>(width, 60)); !bar.empty())
    lines.push_back(bar);
  for (const PanelFigure& figure : panel_figures()) {
    const FigureColumn* column = data.figures != nullptr ? first_of(*data.figures, figure) : nullptr;
    if (column == nullptr) continue;
    const std::string text =
        padded(figure.label, kLabel) + padded(short_number(newest(*column)), kValue, true) + "  ";
    lines.push_back(first_columns(
        text + sparkline(column->values, std::min<int64_t>(width - kLabel - kValue - 2, 60)), width));
  }
  add_findings(data, {width, options.has_colours}, lines);
  if (data.sample) add_sample(*data.sample, width, lines);
  return lines;
}

std::string plain_line(const PanelData& data) {
  std::string line = steps_text(data);
  for (const PanelFigure& figure : panel_figures()) {
    const FigureColumn* column = data.figures != nullptr ? first_of(*data.figures, figure) : nullptr;
    if (column != nullptr) line += str("  ", figure.label, " ", short_number(newest(*column)));
  }
  const std::optional<double> left = seconds_left(data);
  return left && !data.is_finished ? line + "  " + format_duration(*left) + " left" : line;
}

PanelData panel_data(RunView& run, std::optional<int64_t> sample_number) {
  PanelData data{.name = run.name(),
                 .step = run.figures().last_step(),
                 .max_steps = run.max_steps(),
                 .is_finished = run.is_finished(),
                 .figures = &run.figures()};
  const std::span<const CompletionEntry> entries = run.completions().entries();
  if (!sample_number || entries.empty()) return data;
  const auto newest_step = std::ranges::equal_range(entries, entries.back().step, {}, &CompletionEntry::step);
  const CompletionEntry& entry = newest_step[static_cast<size_t>(*sample_number % std::ssize(newest_step))];
  const Json row = Json::parse(run.completions().line(entry));
  const auto text = [&](const char* key) { return string_or_json(row.value(key, Json(""))); };
  data.sample = PanelSample{entry.step, {}, text("prompt"), text("completion")};
  if (std::isfinite(entry.reward)) data.sample->reward = static_cast<double>(entry.reward);
  return data;
}

std::string PanelScreen::redraw(const std::vector<std::string>& lines) {
  std::string bytes = num_lines_ > 0 ? str("\x1b[", num_lines_, "A\r") : "";
  for (const std::string& line : lines) bytes += line + "\x1b[K\n";
  num_lines_ = lines.size();
  return bytes + "\x1b[J";
}

}  // namespace cohort
