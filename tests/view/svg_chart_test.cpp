#include "cohort/view/svg_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "cohort/view/interval.h"

namespace cohort {
namespace {

Chart chart_of(std::vector<int64_t> steps, std::vector<double> values) {
  return {"c1", "reward", "run: 0 to 1", {{"run", {std::move(steps), std::move(values)}}}};
}

std::string path_in(const std::string& svg) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(svg, found, std::regex("<path [^>]* d=\"([^\"]*)\""))) << svg;
  return found[1];
}

TEST(SvgChart, DrawsALineFromCornerToCorner) {
  // The drawing is 64 to 628 wide and 224 to 12 high.
  EXPECT_EQ(path_in(svg_chart(chart_of({0, 1, 2}, {0, 1, 2}))), "M64.0 224.0L346.0 118.0L628.0 12.0");
}

TEST(SvgChart, LeavesGapsAndShowsLonePoints) {
  EXPECT_EQ(path_in(svg_chart(chart_of({0, 1, 2, 3, 4}, {0, 1, NAN, 0, 1}))),
            "M64.0 224.0L205.0 12.0M487.0 224.0L628.0 12.0");
  EXPECT_EQ(path_in(svg_chart(chart_of({1}, {5}))), "M346.0 118.0h2");
  EXPECT_EQ(path_in(svg_chart(chart_of({}, {}))), "");
}

TEST(SvgChart, KeepsPeaksOfLongSeries) {
  std::vector<int64_t> steps;
  std::vector<double> values;
  for (int64_t i = 0; i <= 10'000; ++i) {
    steps.push_back(i);
    values.push_back(i == 7000 ? 2.0 : i == 7001 ? 0.0 : i >= 2000 && i < 2100 ? NAN : 1.0);
  }
  const std::string path = path_in(svg_chart(chart_of(steps, values)));
  // The largest value comes before the smallest one, as in the series.
  EXPECT_NE(path.find("L458.8 12.0L458.9 224.0"), std::string::npos) << path;
  EXPECT_EQ(std::ranges::count(path, 'M'), 2) << path;
  // Many series share the points of a chart.
  Chart chart = chart_of(steps, values);
  chart.series.resize(100, chart.series.front());
  EXPECT_LT(svg_chart(chart).size(), 80'000u);
}

TEST(SvgChart, ThinsLongSeriesToExtremes) {
  std::vector<int64_t> steps;
  std::vector<double> values;
  for (int64_t i = 0; i < 100'000; ++i) {
    steps.push_back(i);
    values.push_back(i % 2 == 0 ? 0.0 : 2.0);
  }
  const std::string svg = svg_chart(chart_of(steps, values));
  EXPECT_LT(svg.size(), 16'000u);
  EXPECT_EQ(std::ranges::count(path_in(svg), 'L'), 799);
}

TEST(SvgChart, IsDescribedAndEscaped) {
  Chart chart = chart_of({1, 2}, {0, 1});
  chart.title = "<script>";
  chart.series[0].name = "a & \"b\"";
  const std::string svg = svg_chart(chart);
  EXPECT_NE(svg.find("role=\"img\" aria-labelledby=\"c1-title c1-desc\""), std::string::npos);
  EXPECT_NE(svg.find("<title id=\"c1-title\">&lt;script&gt;</title>"), std::string::npos);
  EXPECT_NE(svg.find("<desc id=\"c1-desc\">run: 0 to 1</desc>"), std::string::npos);
  EXPECT_NE(svg.find("<title>a &amp; &quot;b&quot;</title>"), std::string::npos);
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
}

TEST(ScaleTicks, AreRound) {
  EXPECT_EQ(scale_ticks(0, 1, 5), (std::vector<double>{0, 0.2, 0.4, 3 * 0.2, 0.8, 1}));
  EXPECT_EQ(scale_ticks(0, 450, 5), (std::vector<double>{0, 100, 200, 300, 400}));
  EXPECT_EQ(scale_ticks(-3, 3, 3), (std::vector<double>{-2, 0, 2}));
  EXPECT_TRUE(scale_ticks(1, 1, 5).empty());
  EXPECT_TRUE(scale_ticks(0, INFINITY, 5).empty());
}

TEST(MeanInterval, IsStudents) {
  // scipy.stats.t.interval(0.95, 4, loc=3, scale=scipy.stats.sem([1, 2, 3, 4, 5])) is 3 -+ 1.96324316
  const std::vector<double> values{1, 2, NAN, 3, 4, 5};
  const MeanInterval interval = mean_interval(values);
  EXPECT_EQ(interval.mean, 3.0);
  EXPECT_EQ(interval.count, 5);
  EXPECT_NEAR(interval.half_width, 1.9632432, 1e-3);
  EXPECT_NEAR(student_t_975(31), 2.0395134, 1e-4);  // scipy.stats.t.ppf(0.975, 31)
  EXPECT_NEAR(student_t_975(1000), 1.9623391, 1e-5);
  EXPECT_TRUE(std::isnan(mean_interval(std::vector<double>{1}).half_width));
  EXPECT_TRUE(std::isnan(mean_interval({}).mean));
}

TEST(MeanInterval, IsWrittenWithTwoDigitsOfItsWidth) {
  EXPECT_EQ(to_text({0.41234, 0.01251, 9}), "0.412 ± 0.013");
  EXPECT_EQ(to_text({123.4, 12.3, 9}), "123 ± 12");
  EXPECT_EQ(to_text({0.5, NAN, 1}), "0.5");
  EXPECT_EQ(to_text({NAN, NAN, 0}), "-");
  EXPECT_EQ(to_text({0.5, 0.0, 9}), "0.5 ± 0");
  EXPECT_EQ(short_number(1234.5678), "1235");
  EXPECT_EQ(short_number(0.000012345), "1.23e-05");
  EXPECT_EQ(short_number(12.30), "12.3");
  EXPECT_EQ(short_number(-0.25), "-0.25");
  EXPECT_EQ(short_number(0), "0");
}

}  // namespace
}  // namespace cohort
