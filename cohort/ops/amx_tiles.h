// The processor's matrix unit (AMX) as products of small matrices: a tile holds 16 rows of 64 bytes. Only for
// the kernels of that instruction set.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace cohort::COHORT_ARCH::tiles {
namespace {

constexpr int64_t kTileRows = 16;     // rows of a tile
constexpr int64_t kTileColumns = 16;  // float32 or pairs of bfloat16 in a row
constexpr int64_t kTileDepth = 32;    // bfloat16 in a row: what one instruction adds up
constexpr int64_t kTileElements = kTileRows * kTileDepth;

/// The shapes of the eight tiles: all whole, or with the rows' tile 5 of half the bytes and tile 7 of half
/// the rows, which are multiplied with each other.
enum class TileShapes { kWhole, kWithHalves };

/// While one lives, the thread has tiles.
template <TileShapes shapes>
class TileScope {
 public:
  TileScope() {
    struct alignas(64) Configuration {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {64, 64, 64, 64, 64, shapes == TileShapes::kWhole ? 64 : 32, 64, 64};
      uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, shapes == TileShapes::kWhole ? 16 : 8};
    };
    static constexpr Configuration kConfiguration;
    _tile_loadconfig(&kConfiguration);
  }
  ~TileScope() { _tile_release(); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

/// The compiler does not know that tiles are loaded from memory and stored to it: everything before this is
/// there for what follows.
inline void settle() { asm volatile("" ::: "memory"); }

}  // namespace
}  // namespace cohort::COHORT_ARCH::tiles
