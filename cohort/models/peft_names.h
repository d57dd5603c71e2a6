// Names in the files of PEFT.
#pragma once

namespace cohort {

/// Stands before the names of a model's tensors: PEFT wraps a model twice.
inline constexpr char kPeftPrefix[] = "base_model.model.";

}  // namespace cohort
