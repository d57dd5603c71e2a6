#include "cohort/ops/row_range.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace cohort {

void add_range(RowRange range, std::vector<RowRange>& ranges) {
  if (range.size() == 0) return;
  if (!ranges.empty() && ranges.back().end == range.begin) {
    ranges.back().end = range.end;
  } else {
    ranges.push_back(range);
  }
}

at::Tensor rows_in(const at::Tensor& tensor, const std::vector<RowRange>& ranges) {
  if (ranges.empty()) return tensor.narrow(0, 0, 0);
  std::vector<at::Tensor> pieces;
  pieces.reserve(ranges.size());
  for (const RowRange& range : ranges) pieces.push_back(tensor.narrow(0, range.begin, range.size()));
  return pieces.size() == 1 ? pieces.front() : at::cat(pieces);
}

std::vector<RowRange> part_of(const std::vector<RowRange>& ranges, const std::vector<RowRange>& within) {
  std::vector<RowRange> part;
  auto wanted = within.begin();
  int64_t before = 0;  // rows of the ranges so far
  for (const RowRange& range : ranges) {
    const int64_t offset = range.begin - before;
    before += range.size();
    while (wanted != within.end()) {
      const int64_t first = std::max(wanted->begin + offset, range.begin),
                    end = std::min(wanted->end + offset, range.end);
      if (first < end) add_range({first, end}, part);
      if (wanted->end > before) break;  // goes on in the next range
      ++wanted;
    }
  }
  return part;
}

}  // namespace cohort
