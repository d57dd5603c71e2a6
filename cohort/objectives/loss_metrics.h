// What a loss says of itself, in a form that adds up over micro-batches.
#pragma once

#include <map>
#include <string>

#include "cohort/rl/byte_archive.h"

namespace cohort {

class LossMetrics {
 public:
  /// A part of the loss: parts of micro-batches add up.
  void add_total(const std::string& name, double value) { totals_[name] += value; }

  /// The mean of values whose sum is `sum` over `count` of them; 0 for none.
  void add_mean(const std::string& name, double sum, double count);

  /// The smallest or the largest value; infinite: of none, which is 0 in `values`.
  void add_smallest(const std::string& name, double value);
  void add_largest(const std::string& name, double value);

  /// Whether a mean of this name has been added.
  bool has(const std::string& mean) const { return means_.contains(mean); }

  /// Adds another micro-batch.
  void add(const LossMetrics& other);

  /// All of them by name.
  std::map<std::string, double> values() const;

  void write(ByteWriter& writer) const;

  /// Replaces these by what write() wrote. Throws FormatError for other bytes.
  void read(ByteReader& reader);

 private:
  struct Mean {
    double sum = 0.0, count = 0.0;
  };

  std::map<std::string, double> totals_, smallest_, largest_;
  std::map<std::string, Mean> means_;
};

}  // namespace cohort
