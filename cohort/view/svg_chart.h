// A line chart as SVG, without a library: for files that people send.
#pragma once

#include <string>
#include <vector>

#include "cohort/records/figures.h"

namespace cohort {

struct ChartSeries {
  std::string name;
  FigureColumn column;  ///< NaN leaves a gap
};

struct Chart {
  std::string id;  ///< letters, digits and "-": tells the charts of a page apart
  std::string title;
  std::string description;  ///< what a reader who does not see the chart hears
  std::vector<ChartSeries> series;
};

/// The chart, 640 by 260 units. Its colours follow the reader's choice of dark or light; series differ in
/// their dashes, too. At most 800 points of a series are drawn, and about 4,000 in all: the least and the
/// largest value of each of equal parts.
std::string svg_chart(const Chart& chart);

/// A sample of the line of series `index`, for a legend; an SVG of 30 by 10 units.
std::string chart_key(size_t index);

/// How the line of series `index` looks, in words: "blue, solid".
std::string chart_look(size_t index);

/// Values between `low` and `high` for the lines of a scale: 1, 2 or 5 times a power of ten apart, about
/// `count`.
std::vector<double> scale_ticks(double low, double high, int count);

}  // namespace cohort
