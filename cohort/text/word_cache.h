// The tokens of words met before. A word has one place, where a later one replaces it: the cache never grows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "cohort/text/word_merger.h"

namespace cohort {

class WordCache {
 public:
  static constexpr size_t kMaxBytes = 45;   // longer words are not kept
  static constexpr size_t kMaxTokens = 16;  // nor those of more tokens

  /// One word: two cache lines.
  struct Entry {
    uint8_t num_bytes = 0;  // 0: none yet
    uint8_t num_tokens = 0;
    std::array<uint8_t, kMaxTokens> lengths;
    std::array<char, kMaxBytes> bytes;
    std::array<int32_t, kMaxTokens> ids;
  };

  /// The place of `word`, of 1 to kMaxBytes bytes.
  Entry& entry(std::string_view word) {
    if (entries_.empty()) entries_.resize(kNumEntries);
    return entries_[hash(word) >> (64 - kLogEntries)];
  }

  static bool holds(const Entry& entry, std::string_view word) {
    return entry.num_bytes == word.size() && std::memcmp(entry.bytes.data(), word.data(), word.size()) == 0;
  }

  /// Keeps the tokens of `word` from number `first` of `run` on, if they fit.
  static void put(Entry& entry, std::string_view word, const TokenRun& run, size_t first) {
    const size_t count = run.size() - first;
    if (count > kMaxTokens) return;
    entry.num_bytes = static_cast<uint8_t>(word.size());
    entry.num_tokens = static_cast<uint8_t>(count);
    std::memcpy(entry.bytes.data(), word.data(), word.size());
    for (size_t i = 0; i < count; ++i) {
      entry.ids[i] = run.ids[first + i];
      entry.lengths[i] = static_cast<uint8_t>(run.lengths[first + i]);
    }
  }

 private:
  static constexpr int kLogEntries = 14;
  static constexpr size_t kNumEntries = size_t{1} << kLogEntries;  // 2 MiB

  static uint64_t mix(uint64_t value) {
    const auto product = static_cast<unsigned __int128>(value ^ 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  static uint64_t hash(std::string_view word) {
    uint64_t value = word.size();
    const char* data = word.data();
    size_t left = word.size();
    for (; left > 8; left -= 8, data += 8) {
      uint64_t part;
      std::memcpy(&part, data, 8);
      value = mix(value ^ part);
    }
    uint64_t part = 0;
    std::memcpy(&part, data, left);
    return mix(value ^ part);
  }

  std::vector<Entry> entries_;
};

}  // namespace cohort
