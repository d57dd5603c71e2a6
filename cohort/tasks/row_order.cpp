#include "cohort/tasks/row_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/permutation.h"

namespace cohort {
namespace {

constexpr uint64_t kShuffleStream = 0x73687566;  // "shuf"

// Weights become whole numbers with so many digits, so that 0.7 and 0.3 stay exact.
constexpr int kWeightDigits = 9;

using Wide = unsigned __int128;

/// The whole numbers are in proportion to the weights, or to the numbers of rows.
std::vector<int64_t> shares_of(const std::vector<RowOrder::Source>& sources) {
  const auto num_weighted = std::count_if(sources.begin(), sources.end(),
                                          [](const auto& source) { return source.weight.has_value(); });
  COHORT_CHECK(num_weighted == 0 || num_weighted == static_cast<int64_t>(sources.size()));
  double largest = 0.0;
  for (const RowOrder::Source& source : sources) largest = std::max(largest, source.weight.value_or(0.0));
  const double scale =
      num_weighted == 0 ? 1.0 : std::pow(10.0, kWeightDigits - std::ceil(std::log10(largest)));
  std::vector<int64_t> shares;
  shares.reserve(sources.size());
  for (const RowOrder::Source& source : sources) {
    shares.push_back(source.weight ? std::max<int64_t>(1, std::llround(*source.weight * scale))
                                   : source.num_rows);
  }
  return shares;
}

}  // namespace

RowOrder::RowOrder(const std::vector<Source>& sources, uint64_t seed, bool shuffles)
    : sources_(sources),
      shares_(shares_of(sources)),
      total_share_(std::accumulate(shares_.begin(), shares_.end(), int64_t{0})),
      num_drawn_(sources.size()),
      seed_(seed),
      shuffles_(shuffles) {
  COHORT_CHECK(!sources.empty());
  for (const Source& source : sources) {
    COHORT_CHECK(source.num_rows > 0);
    num_rows_ += source.num_rows;
  }
}

/// Row k of a source with share w of W may be drawn from draw floor(k W / w) on and is due before draw
/// ceil((k + 1) W / w).
int64_t RowOrder::next_source() const {
  const auto num_draws = static_cast<Wide>(std::accumulate(num_drawn_.begin(), num_drawn_.end(), int64_t{0}));
  const auto total = static_cast<Wide>(total_share_);
  int64_t earliest = -1;
  Wide earliest_deadline = 0;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const auto drawn = static_cast<Wide>(num_drawn_[i]), share = static_cast<Wide>(shares_[i]);
    if (drawn * total / share > num_draws) continue;
    const Wide deadline = ((drawn + 1) * total + share - 1) / share;
    if (earliest < 0 || deadline < earliest_deadline) {
      earliest = static_cast<int64_t>(i);
      earliest_deadline = deadline;
    }
  }
  COHORT_CHECK(earliest >= 0);
  return earliest;
}

RowAddress RowOrder::next() {
  const int64_t source = next_source();
  const int64_t num_rows = sources_[source].num_rows;
  const int64_t drawn = num_drawn_[source]++;
  const int64_t epoch = drawn / num_rows, position = drawn % num_rows;
  if (!shuffles_) return {source, position};
  const Permutation order(static_cast<uint64_t>(num_rows), seed_,
                          {kShuffleStream, static_cast<uint64_t>(source), static_cast<uint64_t>(epoch)});
  return {source, static_cast<int64_t>(order(static_cast<uint64_t>(position)))};
}

void RowOrder::go_to(std::vector<int64_t> num_drawn) {
  COHORT_CHECK(num_drawn.size() == sources_.size());
  num_drawn_ = std::move(num_drawn);
}

double RowOrder::epoch() const {
  const int64_t num_draws = std::accumulate(num_drawn_.begin(), num_drawn_.end(), int64_t{0});
  return static_cast<double>(num_draws) / static_cast<double>(num_rows_);
}

double RowOrder::share(int64_t source) const {
  return static_cast<double>(shares_.at(source)) / static_cast<double>(total_share_);
}

}  // namespace cohort
