#include "cohort/sampler/prefix_cache.h"

#include <algorithm>

namespace cohort {

PrefixCache::PageText PrefixCache::text_at(std::span<const int32_t> token_ids, int64_t page) {
  PageText text;
  std::ranges::copy(token_ids.subspan(page * kPageRows, kPageRows), text.begin());
  return text;
}

// From the leaf to the root, so that a page comes before its parent.
void PrefixCache::touch(Node* node) {
  for (; node != &root_; node = node->parent) by_use_.splice(by_use_.end(), by_use_, node->use);
}

std::vector<int64_t> PrefixCache::take(std::span<const int32_t> token_ids) {
  std::vector<int64_t> pages;
  Node* node = &root_;
  for (int64_t i = 0; i < std::ssize(token_ids) / kPageRows; ++i) {
    const auto child = node->children.find(text_at(token_ids, i));
    if (child == node->children.end()) break;
    node = child->second.get();
    blocks_.share(node->page);
    pages.push_back(node->page);
  }
  touch(node);
  return pages;
}

void PrefixCache::insert(std::span<const int32_t> token_ids, std::span<const int64_t> pages) {
  Node* node = &root_;
  for (int64_t i = 0; i < std::ssize(token_ids) / kPageRows; ++i) {
    const PageText text = text_at(token_ids, i);
    std::unique_ptr<Node>& child = node->children[text];
    if (child == nullptr) {
      child = std::make_unique<Node>();
      child->parent = node;
      child->text = text;
      child->page = pages[i];
      child->use = by_use_.insert(by_use_.end(), child.get());
      blocks_.share(child->page);
    }
    if (child->page != pages[i]) break;
    node = child.get();
  }
  touch(node);
}

bool PrefixCache::evict_one() {
  for (Node* node : by_use_) {
    if (!node->children.empty() || blocks_.num_holders(node->page) > 1) continue;
    blocks_.release(node->page);
    by_use_.erase(node->use);
    node->parent->children.erase(PageText(node->text));
    return true;
  }
  return false;
}

void PrefixCache::clear() {
  for (const Node* node : by_use_) blocks_.release(node->page);
  by_use_.clear();
  root_.children.clear();
}

}  // namespace cohort
