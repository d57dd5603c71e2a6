// Ranges of a tensor's rows.
#pragma once

#include <cstdint>
#include <vector>

namespace at {
class Tensor;
}

namespace cohort {

/// Rows [begin, end).
struct RowRange {
  int64_t begin;
  int64_t end;

  int64_t size() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

/// Adds a range behind the others: to the last one where that ends there.
void add_range(RowRange range, std::vector<RowRange>& ranges);

/// The rows of `tensor` in these ranges, one behind the other; without a copy where it is one range. Carries
/// gradient.
at::Tensor rows_in(const at::Tensor& tensor, const std::vector<RowRange>& ranges);

/// Where `ranges`, taken one behind the other, have the rows `within`, which ascend.
std::vector<RowRange> part_of(const std::vector<RowRange>& ranges, const std::vector<RowRange>& within);

}  // namespace cohort
