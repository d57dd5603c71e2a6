// In which order a thread of attention's forward reads the pages of a cache, and how they are fetched ahead.
// Compiled once per instruction set, like the kernels.
#pragma once

#include "cohort/ops/attention_tile.h"

namespace cohort::COHORT_ARCH {
namespace {

/// Neighbouring sequences of one query each that have their first `shared` keys in common, whole tiles of
/// them (a prompt's), so that these are loaded once for all; or one block of queries of one sequence.
struct Team {
  int64_t first_sequence, num_sequences;
  int64_t first_query;
  int64_t shared;
  int64_t cost;
};

/// Where the keys of a page and head lie, and its values.
int64_t place_of(const AttentionShape& shape, const RowRange& page, int64_t head) {
  return (page.begin / kKeyBlock * shape.num_kv_heads + head) * kKeyBlock * padded_head_dim(shape.head_dim);
}

/// Fetches the pages that a thread reads before it is there: they lie anywhere, so that the processor does
/// not foresee where it goes on. Keys and values that are no pages are not fetched.
template <typename T>
class PagesAhead {
 public:
  /// Of the teams' heads [item, end): head `item % num_kv_heads` of team `item / num_kv_heads` and so on.
  PagesAhead(const AttentionPlan& plan, const AttentionShape& shape, const std::vector<Team>& teams,
             int64_t item, int64_t end, const T* k, const T* v)
      : plan_(plan),
        shape_(shape),
        teams_(teams),
        item_(item),
        end_(shape.is_paged ? end : item),
        k_(k),
        v_(v) {
    begin_reading(kDistance);
  }

  /// The thread has begun to read so many pages: as many further ones are to be fetched.
  void begin_reading(int64_t pages) {
    while (parts_ > 0) fetch_part();
    parts_ = 2 * pages;
  }

  /// A part of them, half a page: all at once would hold up what the thread computes. Where its first quarter
  /// is read, the processor goes on by itself, and faster.
  void fetch_part() {
    if (parts_ == 0) return;
    --parts_;
    while (page_ == last_page_) {
      if (item_ == end_) return;
      next_run();
    }
    const int64_t size = kKeyBlock * padded_head_dim(shape_.head_dim);
    const T* page = (fetches_values_ ? v_ : k_) + place_of(shape_, *page_, item_ % shape_.num_kv_heads);
    for (int64_t i = 0; i < size / 4; i += kLine) __builtin_prefetch(page + i, 0, 2);
    if (fetches_values_) ++page_;
    fetches_values_ = !fetches_values_;
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(T), kDistance = 2 * kTileBlocks;

  /// The pages that a team has in common, those that each of its sequences has alone, and the next head's;
  /// may be none.
  void next_run() {
    const Team& team = teams_[item_ / shape_.num_kv_heads];
    if (++member_ == team.num_sequences) {
      member_ = -2;
      ++item_;
      return;
    }
    const Block block(plan_, shape_,
                      {team.first_sequence + std::max<int64_t>(0, member_), team.first_query, 0});
    const RowRange* pages = plan_.ranges.data() + block.sequence.range_begin;
    const int64_t first = member_ < 0 ? 0 : std::max(team.shared, block.first_tile());
    const int64_t end = member_ < 0 ? team.shared : block.num_keys;
    page_ = pages + first / kKeyBlock;
    last_page_ = pages + (end + kKeyBlock - 1) / kKeyBlock;
  }

  const AttentionPlan& plan_;
  const AttentionShape& shape_;
  const std::vector<Team>& teams_;
  int64_t item_, end_;
  int64_t member_ = -2;  // of the team; -1: what they have in common, -2: before it
  const T *k_, *v_;
  const RowRange *page_ = nullptr, *last_page_ = nullptr;
  int64_t parts_ = 0;  // keys or values of pages that are to be fetched
  bool fetches_values_ = false;
};

}  // namespace
}  // namespace cohort::COHORT_ARCH
