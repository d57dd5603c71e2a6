// How a product is cut among threads. Compiled once per instruction set, like the kernels.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>

#include "cohort/ops/panel_layout.h"

namespace cohort::COHORT_ARCH {
namespace {

/// Tiles that a thread gets where rows are cut: with fewer the last ones wait for each other.
constexpr int64_t kTilesOfThread = 8;

/// Many rows are cut into as many whole tiles of `tile_rows` for each thread; the rows that are left, and few
/// rows, by the panels. f(first row, rows, first panel, panels). `grain`: multiply-adds that are worth a
/// thread.
template <typename F>
void cut_product(int64_t rows, int64_t out, int64_t in, int64_t tile_rows, int64_t grain, F f) {
  const int64_t num_panels = (out + kWidth - 1) / kWidth, num_threads = at::get_num_threads();
  const int64_t tiles_of_thread = rows / tile_rows / num_threads;
  if (tiles_of_thread < kTilesOfThread) {
    const int64_t work = std::max<int64_t>(1, rows * in * kWidth);
    at::parallel_for(0, num_panels, std::max<int64_t>(1, grain / work),
                     [&](int64_t begin, int64_t end) { f(int64_t{0}, rows, begin, end - begin); });
    return;
  }
  const int64_t rows_of_thread = tiles_of_thread * tile_rows, rest = num_threads * rows_of_thread;
  at::parallel_for(0, num_threads, 1, [&](int64_t begin, int64_t end) {
    f(begin * rows_of_thread, (end - begin) * rows_of_thread, int64_t{0}, num_panels);
    const int64_t first = begin * num_panels / num_threads, last = end * num_panels / num_threads;
    if (rest < rows && first < last) f(rest, rows - rest, first, last - first);
  });
}

}  // namespace
}  // namespace cohort::COHORT_ARCH
