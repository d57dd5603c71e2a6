// Line numbers for a report: the first ones, and their count.
#pragma once

#include <cstdint>
#include <string>

namespace cohort {

class LineList {
 public:
  static constexpr int64_t kMaxListed = 20;

  void add(int64_t line) {
    if (count_++ < kMaxListed) lines_ += (lines_.empty() ? "" : ", ") + std::to_string(line);
  }

  int64_t count() const { return count_; }

  /// Whether the next one will be listed.
  bool has_room() const { return count_ < kMaxListed; }

  /// ", in lines 2, 5"; empty without any.
  std::string text() const {
    if (count_ == 0) return "";
    return ", in lines " + lines_ + (count_ > kMaxListed ? ", ..." : "");
  }

 private:
  int64_t count_ = 0;
  std::string lines_;
};

}  // namespace cohort
