#include "cohort/text/word_merger.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cohort {
namespace {

constexpr size_t kShortWord = 40;
constexpr uint32_t kNoMerge = ~uint32_t{0};

}  // namespace

void WordMerger::merge(TokenRun& symbols, const MergeTable& merges, const std::vector<int32_t>& results,
                       bool unique_results) {
  if (symbols.size() < 2) return;
  // Where two pairs give one token, HF lets an outdated entry of its queue merge the other pair: that needs
  // the queue.
  if (unique_results && symbols.size() <= kShortWord) {
    merge_short(symbols, merges);
  } else {
    merge_long(symbols, merges, results);
  }
}

void WordMerger::trim() {
  constexpr size_t kKept = 1 << 14;
  if (symbols_.capacity() > kKept) std::vector<Symbol>().swap(symbols_);
  if (queue_.capacity() > kKept) std::vector<uint64_t>().swap(queue_);
}

/// Looks through all pairs for each merge, which is quicker than a queue for a few dozen.
void WordMerger::merge_short(TokenRun& symbols, const MergeTable& merges) {
  std::array<Merge, kShortWord> pairs;
  size_t size = symbols.size();
  const auto look_up = [&](size_t i) {
    ++num_lookups_;
    const Merge* merge = merges.find(symbols.ids[i], symbols.ids[i + 1]);
    pairs[i] = merge == nullptr ? Merge{kNoMerge, 0} : *merge;
  };
  for (size_t i = 0; i + 1 < size; ++i) look_up(i);
  while (size > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < size; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == kNoMerge) break;
    symbols.ids[best] = pairs[best].result;
    symbols.lengths[best] += symbols.lengths[best + 1];
    --size;
    for (size_t i = best + 1; i < size; ++i) {
      symbols.ids[i] = symbols.ids[i + 1];
      symbols.lengths[i] = symbols.lengths[i + 1];
      pairs[i - 1] = pairs[i];
    }
    if (best + 1 < size) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  symbols.ids.resize(size);
  symbols.lengths.resize(size);
}

void WordMerger::push(const MergeTable& merges, int32_t position) {
  if (position < 0 || symbols_[position].next < 0) return;
  ++num_lookups_;
  const Merge* merge = merges.find(symbols_[position].id, symbols_[symbols_[position].next].id);
  if (merge == nullptr) return;
  queue_.push_back(static_cast<uint64_t>(merge->rank) << 32 | static_cast<uint32_t>(position));
  for (size_t i = queue_.size() - 1; i > 0;) {
    const size_t parent = (i - 1) / 4;
    if (queue_[parent] <= queue_[i]) break;
    std::swap(queue_[parent], queue_[i]);
    i = parent;
  }
}

uint64_t WordMerger::pop() {
  const uint64_t top = queue_.front();
  const uint64_t last = queue_.back();
  queue_.pop_back();
  const size_t size = queue_.size();
  if (size == 0) return top;
  size_t hole = 0;
  for (size_t first = 1; first < size; first = 4 * hole + 1) {
    size_t least = first;
    for (size_t child = first + 1; child < std::min(first + 4, size); ++child) {
      if (queue_[child] < queue_[least]) least = child;
    }
    if (queue_[least] >= last) break;
    queue_[hole] = queue_[least];
    hole = least;
  }
  queue_[hole] = last;
  return top;
}

void WordMerger::merge_long(TokenRun& symbols, const MergeTable& merges,
                            const std::vector<int32_t>& results) {
  symbols_.clear();
  queue_.clear();
  const auto size = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < size; ++i) {
    symbols_.push_back({symbols.ids[i], symbols.lengths[i], i - 1, i + 1 < size ? i + 1 : -1});
  }
  for (int32_t i = 0; i < size; ++i) push(merges, i);
  while (!queue_.empty()) {
    const uint64_t top = pop();
    const auto position = static_cast<int32_t>(static_cast<uint32_t>(top));
    const int32_t result = results[top >> 32];
    Symbol& left = symbols_[position];
    if (left.length == 0 || left.next < 0) continue;
    // A neighbour may have changed since. Like HF, this asks whether the pair still gives the same token, not
    // whether it is the same pair.
    Symbol& right = symbols_[left.next];
    ++num_lookups_;
    const Merge* merge = merges.find(left.id, right.id);
    if (merge == nullptr || merge->result != result) continue;
    left.id = result;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next >= 0) symbols_[left.next].previous = position;
    push(merges, left.previous);
    push(merges, position);
  }
  symbols.clear();
  for (int32_t i = 0; i >= 0; i = symbols_[i].next) symbols.add(symbols_[i].id, symbols_[i].length);
}

}  // namespace cohort
