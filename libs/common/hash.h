// Hashes that never change: splits, duplicates and fingerprints of data depend on them.
#pragma once

#include <cstdint>
#include <string_view>

namespace cohort {

/// FNV-1a, 64 bits. Its bits are not uniform: mix them if that matters.
constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char byte : text) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  return hash;
}

}  // namespace cohort
