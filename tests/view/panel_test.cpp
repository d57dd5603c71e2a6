#include "cohort/view/panel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "libs/common/visible_text.h"
#include "tests/view/run_case.h"

namespace cohort {
namespace {

const PanelOptions kPlain{.width = 60, .has_colours = false};

TEST(Panel, ShowsTheRun) {
  const RunCase files;
  RunView run(files.path());
  PanelData data = panel_data(run, 5);
  data.name = "demo";
  data.findings = {};
  const std::vector<std::string> lines = panel_lines(data, kPlain);
  ASSERT_GE(lines.size(), 8u);
  EXPECT_EQ(lines[0], "demo  step 6 of 8  20 s left");
  EXPECT_EQ(lines[1], std::string("█████████████████████████████████████████████░░░░░░░░░░░░░░░"));
  EXPECT_EQ(lines[2], "reward            1  ▁▁▁███");
  EXPECT_EQ(lines[3], "accuracy          1  ▁▁▁███");
  EXPECT_EQ(lines[4], "entropy      0.3333  █▄▂▁▁▁");
  EXPECT_EQ(lines[5], "kl                -        ");
  EXPECT_EQ(lines[6], "sample of step 6, reward 0");
  EXPECT_EQ(lines[7], "  > What is the answer to never?");
  EXPECT_EQ(lines[8], "  < no idea");
  EXPECT_EQ(plain_line(data), "step 6 of 8  reward 1  accuracy 1  entropy 0.3333  kl -  20 s left");
}

TEST(Panel, ShowsFindings) {
  const RunCase files;
  RunView run(files.path());
  PanelData data = panel_data(run, std::nullopt);
  std::vector<RunFinding> findings(
      5, {.rule = "r", .level = FindingLevel::kProblem, .text = "all is lost", .advice = ""});
  findings[1].level = FindingLevel::kWarning;
  data.findings = findings;
  const std::vector<std::string> lines = panel_lines(data, {.width = 60, .has_colours = true});
  ASSERT_GE(lines.size(), 4u);
  EXPECT_EQ(lines.end()[-4], "\x1b[31mproblem: all is lost\x1b[0m");
  EXPECT_EQ(lines.end()[-3], "\x1b[33mwarning: all is lost\x1b[0m");
  EXPECT_EQ(lines.end()[-1], "and 2 more: cohort explain RUN");
}

TEST(Panel, CutsToTheWidthAndLetsNothingAct) {
  const RunCase files;
  RunView run(files.path());
  PanelData data = panel_data(run, std::nullopt);
  data.sample = PanelSample{6, 0.5, "\x1b]0;title\x07日本日本日本日本日本日本日本日本",
                            "a\nb\r\u202E" + std::string(10'000'000, 'x')};
  data.name = "\x1b[2J";
  for (const std::string& line : panel_lines(data, {.width = 30, .has_colours = false})) {
    EXPECT_LE(num_columns(line), 30) << line;
    for (const char* harmful : {"\x1b", "\r", "\n", "\x07", "\u202E"})
      EXPECT_EQ(line.find(harmful), std::string::npos) << line;
  }
}

TEST(Panel, KnowsNoTimeLeftWithoutTimesOrAnEnd) {
  const RunCase files;
  RunView run(files.path());
  PanelData data = panel_data(run, std::nullopt);
  EXPECT_EQ(seconds_left(data), 20.0);
  data.max_steps = 6;
  EXPECT_FALSE(seconds_left(data).has_value());
  data.max_steps = 0;
  EXPECT_FALSE(seconds_left(data).has_value());
  EXPECT_FALSE(seconds_left({.max_steps = 5}).has_value());
}

TEST(Panel, TheTimeLeftIncludesEvaluations) {
  const TemporaryDirectory folder;
  write_text(folder.path() / "config.toml", "");
  std::string timings;
  for (const int step : {1, 2, 3, 4})
    timings += str("{\"step\":", step, ",\"timing_s/step\":10.0",
                   step % 2 == 0 ? ",\"timing_s/testing\":6.0" : "", "}\n");
  write_text(folder.path() / "timings.jsonl", timings);
  Figures figures(folder.path());
  figures.update();
  EXPECT_EQ(seconds_left({.step = 4, .max_steps = 6, .figures = &figures}), 2 * (10.0 + 12.0 / 4));
}

TEST(Sparkline, HasEightHeights) {
  const std::vector<double> rising{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(sparkline(rising, 8), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(rising, 4), "▁▃▆█");
  EXPECT_EQ(sparkline(std::vector<double>{1, NAN, 1}, 8), "▁ ▁");
  EXPECT_EQ(sparkline({}, 8), "");
  EXPECT_EQ(sparkline(rising, 0), "");
}

TEST(PanelScreen, DrawsInPlace) {
  PanelScreen screen;
  EXPECT_EQ(screen.redraw({"a", "b"}), "a\x1b[K\nb\x1b[K\n\x1b[J");
  EXPECT_EQ(screen.redraw({"c"}), "\x1b[2A\rc\x1b[K\n\x1b[J");
  EXPECT_EQ(screen.redraw({}), "\x1b[1A\r\x1b[J");
}

}  // namespace
}  // namespace cohort
