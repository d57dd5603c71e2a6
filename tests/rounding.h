// How far float32 results of the same terms may lie apart: bounds from the arithmetic, for every instruction
// set.
#pragma once

#include <cmath>
#include <cstdint>

namespace cohort {

/// The relative difference that two float32 sums of the same `terms` terms may have if their orders differ.
/// Each addition rounds by at most 2^-24 of a partial sum, and roundings of both signs grow with the square
/// root of their number. The factor 8 is 4 standard deviations of two sums' difference at partial sums of up
/// to sqrt(2) times the result. A missing or doubled term shifts the result by about 1 / terms, which is far
/// more for up to 10^4 terms.
inline double rounding_bound(int64_t terms) { return 8.0 * 0x1p-24 * std::sqrt(static_cast<double>(terms)); }

}  // namespace cohort
