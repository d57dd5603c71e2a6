// The prefix cache: pages whose keys and values are known, found again by the tokens that they hold. It
// compares tokens, not hashes, so it never confuses two texts.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cohort/sampler/block_manager.h"

namespace cohort {

/// A tree whose nodes are full pages: a node's path from the root is the text up to the end of its page. The
/// cache holds each of its pages once, so a page stays when the completions that used it end.
class PrefixCache {
 public:
  /// `blocks` must outlive this.
  explicit PrefixCache(BlockManager& blocks) : blocks_(blocks) {}

  /// The pages of the longest known beginning of `token_ids` in full pages. Each is held once more, for the
  /// caller.
  std::vector<int64_t> take(std::span<const int32_t> token_ids);

  /// Adds the full pages of `token_ids`, the i-th in `pages[i]`, up to one whose text another page holds
  /// already. So a holder of a known page also holds those before it, and all others can be freed.
  void insert(std::span<const int32_t> token_ids, std::span<const int64_t> pages);

  /// Frees the least recently used page among those that nothing else holds; false if there is
  /// none.
  bool evict_one();

  /// Drops everything, for example if the weights change.
  void clear();

  int64_t size() const { return static_cast<int64_t>(by_use_.size()); }

 private:
  using PageText = std::array<int32_t, kPageRows>;
  struct Node {
    Node* parent = nullptr;
    PageText text{};
    int64_t page = -1;
    std::map<PageText, std::unique_ptr<Node>> children;
    std::list<Node*>::iterator use;  // its place in by_use_
  };

  static PageText text_at(std::span<const int32_t> token_ids, int64_t page);
  void touch(Node* node);

  BlockManager& blocks_;
  Node root_;
  std::list<Node*> by_use_;  // the least recently used page first, and a page before its parent
};

}  // namespace cohort
