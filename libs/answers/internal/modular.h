// Values of rational expressions modulo a prime of 61 bits, with the variables at random residues. Two such
// expressions that differ at one point are different; ones that agree at several are equal but for a chance
// of degree / 2^61 each (Schwartz and Zippel). It costs the same for (x + 1)^1000000 as for x + 1. pi and e
// count as variables: no rational identity holds for either of them.
#pragma once

#include <cstdint>
#include <optional>

#include "libs/answers/internal/evaluation.h"
#include "libs/answers/internal/tree.h"

namespace cohort::answers {

/// One of 256 points, each of which has variables and primes of its own for every seed of a comparison: no
/// text can be made to agree with another at them without knowing it.
Point seeded(Point point, uint64_t seed);

/// Points of one seed whose numbers have the same parity share a prime. Nothing where the expression is not
/// rational in its variables, or a denominator vanishes.
std::optional<uint64_t> evaluate_modulo(const Tree& tree, NodeId id, const Reading& reading, Point point);

/// Arithmetic of residues that belong to one point.
uint64_t subtract_modulo(uint64_t a, uint64_t b, Point point);
uint64_t multiply_modulo(uint64_t a, uint64_t b, Point point);

}  // namespace cohort::answers
