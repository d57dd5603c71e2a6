// The order in which rows of weighted sources are drawn: computed from counts alone, so that it takes no
// memory and continues at the exact row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cohort {

struct RowAddress {
  int64_t source = 0;
  int64_t row = 0;  ///< in the source
};

/// After any number of draws the rows drawn from each source differ from its share, by weight, by less than
/// one: the source whose next row is due earliest is next (earliest deadline first, for which this holds:
/// Baruah et al., "Proportionate progress", Algorithmica 1996). Within a source every row comes once per
/// epoch; epoch e has the order `Permutation` at (seed, source, e), or the files' own.
class RowOrder {
 public:
  struct Source {
    int64_t num_rows = 0;          ///< at least 1
    std::optional<double> weight;  ///< above 0; without any, the number of rows
  };

  /// Either all sources have a weight or none.
  RowOrder(const std::vector<Source>& sources, uint64_t seed, bool shuffles);

  RowAddress next();

  /// Rows drawn from each source so far.
  const std::vector<int64_t>& num_drawn() const { return num_drawn_; }

  /// Moves to the position after `num_drawn` rows of each source.
  void go_to(std::vector<int64_t> num_drawn);

  int64_t num_rows() const { return num_rows_; }

  /// Draws divided by rows: with weights some rows come more often in an epoch and others not at all.
  double epoch() const;

  /// A source's share of the draws.
  double share(int64_t source) const;

 private:
  int64_t next_source() const;

  std::vector<Source> sources_;
  std::vector<int64_t> shares_;  // whole numbers in proportion to the weights
  int64_t total_share_ = 0;
  std::vector<int64_t> num_drawn_;
  int64_t num_rows_ = 0;
  uint64_t seed_;
  bool shuffles_;
};

}  // namespace cohort
