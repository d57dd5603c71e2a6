#include "cohort/view/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

#include "cohort/view/interval.h"
#include "cohort/view/markup.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

constexpr double kWidth = 640, kHeight = 260, kLeft = 64, kRight = 12, kTop = 12, kBottom = 36;
constexpr size_t kMostPoints = 800;        // of a series
constexpr size_t kMostChartPoints = 4000;  // of all its series together

struct LineStyle {
  const char* dashes;  ///< of SVG; empty: none
  const char* words;
};

constexpr LineStyle kDashes[] = {
    {"", "solid"}, {"6 3", "dashed"}, {"2 3", "dotted"}, {"8 3 2 3", "dash-dotted"}, {"14 4", "long dashes"}};
constexpr const char* kColours[] = {"blue", "red", "green", "purple", "brown", "teal"};

/// Contrast with the background is at least 4.5 to 1 in both schemes.
constexpr const char* kStyle =
    "<style>.cohort-chart{color:#1b1b1f;font:12px sans-serif}.cohort-chart .c0{stroke:#0b5cad}.cohort-chart "
    ".c1{stroke:#a8370b}.cohort-chart .c2{stroke:#1a6e2e}.cohort-chart .c3{stroke:#7a2f93}.cohort-chart "
    ".c4{stroke:#7a5200}.cohort-chart "
    ".c5{stroke:#006666}@media(prefers-color-scheme:dark){.cohort-chart{color:#e6e6ea}"
    ".cohort-chart .c0{stroke:#7db8f5}.cohort-chart .c1{stroke:#f59a72}.cohort-chart .c2{stroke:#7fd493}"
    ".cohort-chart .c3{stroke:#d79cec}.cohort-chart .c4{stroke:#e0b85c}.cohort-chart "
    ".c5{stroke:#6fd3d3}}</style>";

std::string fixed(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// Linear from values to the places of a drawing.
struct Axis {
  double low, high, from, to;

  double place(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

/// An axis around all values; a range of no width is widened.
Axis axis_around(double low, double high, double from, double to) {
  if (!(low <= high)) low = 0.0, high = 1.0;
  if (low == high) {
    const double margin = low == 0.0 ? 1.0 : std::abs(low) * 0.1;
    low -= margin;
    high += margin;
  }
  return {low, high, from, to};
}

/// At most `most` points: of each of half as many parts the least and the largest value, in their order, so
/// that peaks stay.
FigureColumn thinned(const FigureColumn& column, size_t most) {
  const size_t count = column.steps.size(), num_parts = std::max<size_t>(1, most / 2);
  if (count <= most) return column;
  FigureColumn result;
  const auto add = [&](size_t i) {
    result.steps.push_back(column.steps[i]);
    result.values.push_back(column.values[i]);
  };
  for (size_t part = 0; part < num_parts; ++part) {
    const size_t begin = part * count / num_parts, end = (part + 1) * count / num_parts;
    size_t least = begin, largest = begin;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(column.values[i])) continue;
      const bool is_first = !std::isfinite(column.values[least]);
      if (is_first || column.values[i] < column.values[least]) least = i;
      if (is_first || column.values[i] > column.values[largest]) largest = i;
    }
    add(std::min(least, largest));
    if (least != largest) add(std::max(least, largest));
  }
  return result;
}

std::string path_of(const FigureColumn& column, const Axis& x, const Axis& y) {
  std::string path;
  bool is_new = true;
  for (size_t i = 0; i < column.steps.size(); ++i) {
    if (!std::isfinite(column.values[i])) {
      is_new = true;
      continue;
    }
    path += (is_new ? "M" : "L") + fixed(x.place(static_cast<double>(column.steps[i]))) + " " +
            fixed(y.place(column.values[i]));
    is_new = false;
  }
  // A lone point has no line: a short one makes it visible.
  return path.find('L') == std::string::npos && !path.empty() ? path + "h2" : path;
}

/// Class and dashes of a series' line.
std::string line_attributes(size_t index) {
  const std::string dashes = kDashes[index % std::size(kDashes)].dashes;
  return "class=\"c" + std::to_string(index % std::size(kColours)) + "\" fill=\"none\" stroke-width=\"1.8\"" +
         (dashes.empty() ? "" : " stroke-dasharray=\"" + dashes + "\"");
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" text-anchor=\"" + anchor +
         "\" fill=\"currentColor\">" + escape_html(text) + "</text>";
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg = "<g stroke=\"currentColor\" stroke-opacity=\"0.2\">";
  for (const double tick : scale_ticks(y.low, y.high, 5)) {
    const std::string place = fixed(y.place(tick));
    svg += str("<line x1=\"", fixed(x.from), "\" x2=\"", fixed(x.to), "\" y1=\"", place, "\" y2=\"", place,
               "\"/>");
  }
  svg += "</g>";
  for (const double tick : scale_ticks(y.low, y.high, 5))
    svg += text_at(x.from - 6, y.place(tick) + 4, "end", short_number(tick));
  for (const double tick : scale_ticks(x.low, x.high, 6))
    if (tick == std::floor(tick)) svg += text_at(x.place(tick), y.from + 16, "middle", short_number(tick));
  return svg + text_at((x.from + x.to) / 2, kHeight - 4, "middle", "step");
}

}  // namespace

std::vector<double> scale_ticks(double low, double high, int count) {
  if (!(low < high) || count < 1 || !std::isfinite(high - low)) return {};
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double ratio = rough / power;
  const double distance = power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
  std::vector<double> ticks;
  const double first = std::ceil(low / distance - 1e-9) + 0.0;  // + 0.0: no tick is "-0"
  const auto num_ticks = static_cast<int64_t>(std::floor(high / distance + 1e-9) - first) + 1;
  for (int64_t i = 0; i < num_ticks; ++i) ticks.push_back((first + static_cast<double>(i)) * distance);
  return ticks;
}

std::string chart_key(size_t index) {
  return "<svg class=\"cohort-chart\" style=\"width:30px;height:10px;background:none\" viewBox=\"0 0 30 10\" "
         "aria-hidden=\"true\"><path " +
         line_attributes(index) + " d=\"M0 5L30 5\"/></svg>";
}

std::string chart_look(size_t index) {
  return std::string(kColours[index % std::size(kColours)]) + ", " +
         kDashes[index % std::size(kDashes)].words;
}

std::string svg_chart(const Chart& chart) {
  double least_step = std::numeric_limits<double>::infinity(), most_step = -least_step;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  std::vector<FigureColumn> columns;
  for (const ChartSeries& series : chart.series) {
    columns.push_back(thinned(series.column, std::min(kMostPoints, kMostChartPoints / chart.series.size())));
    for (size_t i = 0; i < series.column.steps.size(); ++i) {
      const double step = static_cast<double>(series.column.steps[i]), value = series.column.values[i];
      if (!std::isfinite(value)) continue;
      least_step = std::min(least_step, step), most_step = std::max(most_step, step);
      least = std::min(least, value), most = std::max(most, value);
    }
  }
  const Axis x = axis_around(least_step, most_step, kLeft, kWidth - kRight);
  const Axis y = axis_around(least, most, kHeight - kBottom, kTop);
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cohort-chart\" viewBox=\"0 0 640 260\" "
      "role=\"img\" aria-labelledby=\"" +
      chart.id + "-title " + chart.id + "-desc\"><title id=\"" + chart.id + "-title\">" +
      escape_html(chart.title) + "</title><desc id=\"" + chart.id + "-desc\">" +
      escape_html(chart.description) + "</desc>" + kStyle + grid(x, y);
  for (size_t i = 0; i < columns.size(); ++i) {
    svg += "<path " + line_attributes(i) + " d=\"" + path_of(columns[i], x, y) + "\"><title>" +
           escape_html(chart.series[i].name) + "</title></path>";
  }
  return svg + "</svg>";
}

}  // namespace cohort
