// Ranges of rows by hand: how they are joined, cut and read, and which queries a part of a plan has.
#include "cohort/ops/row_range.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cohort/ops/attention.h"

namespace cohort {
namespace {

using Ranges = std::vector<RowRange>;

TEST(RowRange, JoinsWhatAdjoins) {
  Ranges ranges;
  for (const RowRange range : Ranges{{2, 5}, {5, 5}, {5, 9}, {11, 11}, {11, 12}, {4, 6}})
    add_range(range, ranges);
  EXPECT_EQ(ranges, (Ranges{{2, 9}, {11, 12}, {4, 6}}));
}

TEST(RowRange, FindsRowsInOtherRanges) {
  const Ranges ranges{{10, 14}, {30, 31}, {20, 25}};  // rows 0 to 3, 4, and 5 to 9
  EXPECT_EQ(part_of(ranges, {{0, 10}}), ranges);
  EXPECT_EQ(part_of(ranges, {{3, 6}}), (Ranges{{13, 14}, {30, 31}, {20, 21}}));
  EXPECT_EQ(part_of(ranges, {{0, 1}, {2, 4}, {5, 6}, {8, 10}}),
            (Ranges{{10, 11}, {12, 14}, {20, 21}, {23, 25}}));
  EXPECT_EQ(part_of(ranges, {}), Ranges{});
}

TEST(RowRange, ReadsRowsWithGradient) {
  const at::Tensor rows = at::arange(10, at::kFloat).requires_grad_(true);
  EXPECT_TRUE(at::equal(rows_in(rows, {{7, 9}, {1, 2}}), at::tensor({7.0f, 8.0f, 1.0f})));
  EXPECT_EQ(rows_in(rows, {}).numel(), 0);
  EXPECT_EQ(rows_in(rows, {{3, 5}}).const_data_ptr(), rows.const_data_ptr<float>() + 3) << "a copy";
  (rows_in(rows, {{7, 9}, {1, 2}}) * at::tensor({2.0f, 3.0f, 5.0f})).sum().backward();
  EXPECT_TRUE(
      at::equal(rows.grad(), at::tensor({0.0f, 5.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 2.0f, 3.0f, 0.0f})));
}

TEST(AttentionPlan, OfSomeQueriesKeepsGroupsAndPositions) {
  AttentionPlan plan;
  plan.begin_group();
  plan.add_sequence(0, 4, 0, {{0, 4}});
  plan.add_sequence(4, 3, 4, {{0, 4}, {4, 7}});
  plan.begin_group();
  plan.add_sequence(7, 2, 0, {{7, 9}});
  plan.begin_group();
  plan.add_sequence(9, 5, 1, {{7, 8}, {9, 14}});
  const AttentionPlan part = plan.of_queries({{3, 6}, {10, 11}, {13, 14}});
  EXPECT_EQ(part.ranges, plan.ranges);
  EXPECT_EQ(part.group_begin, (std::vector<int64_t>{0, 2, 2}));
  const auto numbers = [](const AttentionSequence& s) {
    return std::vector<int64_t>{s.query_begin, s.num_queries, s.first_position, s.range_begin, s.range_end};
  };
  ASSERT_EQ(part.sequences.size(), 4);
  EXPECT_EQ(numbers(part.sequences[0]), (std::vector<int64_t>{0, 1, 3, 0, 1}));
  EXPECT_EQ(numbers(part.sequences[1]), (std::vector<int64_t>{1, 2, 4, 1, 3}));
  EXPECT_EQ(numbers(part.sequences[2]), (std::vector<int64_t>{3, 1, 2, 4, 6}));
  EXPECT_EQ(numbers(part.sequences[3]), (std::vector<int64_t>{4, 1, 5, 4, 6}));
}

}  // namespace
}  // namespace cohort
