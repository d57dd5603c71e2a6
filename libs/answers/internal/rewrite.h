// Brings a parsed answer into the form that structures.h compares.
#pragma once

#include "libs/answers/internal/parser.h"

namespace cohort::answers {

/// Every plus-minus becomes a list of its values: each sign stands for itself, except that an expression with
/// both plus-minus and minus-plus has two values. Inside a set the values are elements. x != +-2 says two
/// things at once. a = b = 1 becomes two equations, x != 1, 2 two conditions. Throws TreeLimit and
/// ParseFailure.
Expression resolve_signs(const Expression& source);

/// Copies a subtree into another tree. Throws TreeLimit.
NodeId copy_tree(const Tree& source, NodeId id, Tree& target);

}  // namespace cohort::answers
