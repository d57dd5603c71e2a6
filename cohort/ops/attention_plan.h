// Which rows attend to which. The header needs no torch, because the kernels are compiled once per
// instruction set.
#pragma once

#include <cstdint>
#include <vector>

#include "cohort/ops/row_range.h"

namespace cohort {

/// Queries at rows [query_begin, query_begin + num_queries) of q, at logical positions first_position and up;
/// the keys of positions 0 .. first_position + num_queries - 1 lie in ranges [range_begin, range_end) of the
/// plan, in order.
struct AttentionSequence {
  int64_t query_begin;
  int64_t num_queries;
  int64_t first_position;
  int64_t range_begin;
  int64_t range_end;
};

/// Which rows attend to which; `ranges` are rows of k and v. Sequences that share key rows must stand in one
/// group: groups are the units of work of the backward.
struct AttentionPlan {
  std::vector<RowRange> ranges;
  std::vector<AttentionSequence> sequences;
  std::vector<int64_t> group_begin;  ///< index of each group's first sequence

  void begin_group() { group_begin.push_back(static_cast<int64_t>(sequences.size())); }

  /// Adds a sequence to the newest group. Throws InternalError when the ranges do not hold
  /// first_position + num_queries rows.
  void add_sequence(int64_t query_begin, int64_t num_queries, int64_t first_position,
                    const std::vector<RowRange>& key_ranges);

  /// The plan of the rows of q in these ascending ranges alone, as rows 0 and up.
  AttentionPlan of_queries(const std::vector<RowRange>& rows) const;
};

constexpr int64_t kKeyBlock = 16;  ///< rows of a page

}  // namespace cohort
