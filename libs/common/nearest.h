// "Did you mean ...?": the candidate that is closest to a mistyped name.
#pragma once

#include <string>
#include <vector>

namespace cohort {

/// Optimal string alignment distance: bytes inserted, deleted, replaced, or neighbors swapped.
size_t edit_distance(const std::string& a, const std::string& b);

/// The candidate with the smallest edit distance (insert, delete, replace, swap neighbors), the first among
/// equals; empty if there is no candidate.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace cohort
