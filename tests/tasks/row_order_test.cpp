// Mixtures: shares to less than one row at every draw, every row once an epoch of its source, exact
// continuation.
#include "cohort/tasks/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cohort/core/error.h"

namespace cohort {
namespace {

using Sources = std::vector<RowOrder::Source>;
using Rows = std::vector<std::pair<int64_t, int64_t>>;

Rows take(RowOrder& order, int64_t count) {
  Rows rows;
  for (int64_t i = 0; i < count; ++i) {
    const RowAddress address = order.next();
    rows.emplace_back(address.source, address.row);
  }
  return rows;
}

TEST(RowOrder, SharesHoldToLessThanARowAtEveryDraw) {
  for (const std::vector<double>& weights : {std::vector<double>{1, 1},
                                             {0.7, 0.3},
                                             {3, 1},
                                             {0.5, 0.25, 0.25},
                                             {5, 3, 2, 1},
                                             {0.9, 0.05, 0.03, 0.02},
                                             {1, 1, 1, 1, 1, 1, 1},
                                             {1e-6, 1},
                                             {0.1, 0.2, 0.3, 0.15, 0.25}}) {
    Sources sources;
    double total = 0.0;
    for (const double weight : weights) {
      sources.push_back({13, weight});
      total += weight;
    }
    RowOrder order(sources, 1, true);
    for (int64_t draws = 1; draws <= 5000; ++draws) {
      order.next();
      for (size_t s = 0; s < weights.size(); ++s) {
        const double due = static_cast<double>(draws) * weights[s] / total;
        ASSERT_LT(std::abs(static_cast<double>(order.num_drawn()[s]) - due), 1.0 + 1e-6)
            << "source " << s << " of " << weights.size() << " after " << draws;
      }
    }
  }
}

TEST(RowOrder, BlocksOfTheWeightsSumHoldTheWeights) {
  RowOrder order({{100, 3.0}, {100, 1.0}}, 1, true);
  for (int block = 0; block < 200; ++block) {
    const Rows rows = take(order, 4);
    EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.first == 0; }), 3);
  }
}

TEST(RowOrder, WithoutWeightsAnEpochHoldsEveryRowOnce) {
  RowOrder order({{7, {}}, {100, {}}, {1, {}}}, 5, true);
  for (int epoch = 0; epoch < 4; ++epoch) {
    const Rows rows = take(order, 108);
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 108u) << epoch;
    EXPECT_EQ(order.epoch(), epoch + 1.0);
  }
}

TEST(RowOrder, EverySourceGivesEachRowOnceAnEpochInAFreshOrder) {
  RowOrder order({{10, 2.0}, {6, 1.0}}, 3, true);
  const Rows rows = take(order, 90);
  for (int64_t source : {0, 1}) {
    const size_t size = source == 0 ? 10 : 6;
    std::vector<int64_t> drawn;
    for (const auto& [s, row] : rows) {
      if (s == source) drawn.push_back(row);
    }
    ASSERT_EQ(drawn.size(), source == 0 ? 60u : 30u);
    std::set<std::vector<int64_t>> orders;
    for (size_t begin = 0; begin < drawn.size(); begin += size) {
      std::vector<int64_t> epoch(drawn.begin() + begin, drawn.begin() + begin + size);
      orders.insert(epoch);
      std::sort(epoch.begin(), epoch.end());
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(epoch[i], static_cast<int64_t>(i));
    }
    EXPECT_EQ(orders.size(), drawn.size() / size);
  }
}

TEST(RowOrder, WithoutShufflingTheFilesOrderStays) {
  RowOrder order({{3, {}}}, 3, false);
  EXPECT_EQ(take(order, 7), (Rows{{0, 0}, {0, 1}, {0, 2}, {0, 0}, {0, 1}, {0, 2}, {0, 0}}));
}

TEST(RowOrder, DependsOnTheSeed) {
  RowOrder one({{30, {}}}, 1, true), same({{30, {}}}, 1, true), other({{30, {}}}, 2, true);
  const Rows rows = take(one, 30);
  EXPECT_EQ(rows, take(same, 30));
  EXPECT_NE(rows, take(other, 30));
}

TEST(RowOrder, GoesOnFromAnyPlace) {
  const Sources sources{{10, 0.6}, {4, 0.3}, {25, 0.1}};
  RowOrder unbroken(sources, 9, true);
  for (int64_t consumed = 0; consumed < 120; ++consumed) {
    RowOrder ahead(sources, 9, true), resumed(sources, 9, true);
    take(ahead, consumed);
    take(resumed, 17);
    resumed.go_to(ahead.num_drawn());
    ASSERT_EQ(take(resumed, 60), take(ahead, 60)) << consumed;
  }
}

TEST(RowOrder, ManyRowsTakeNoTime) {
  const int64_t rows = int64_t{1} << 40;
  RowOrder order({{rows, {}}, {rows / 3, {}}}, 1, true);
  order.go_to({rows - 5, rows / 3 - 2});
  const Rows drawn = take(order, 20);
  EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), 20u);
  EXPECT_NEAR(order.share(0), 0.75, 1e-9);
}

}  // namespace
}  // namespace cohort
