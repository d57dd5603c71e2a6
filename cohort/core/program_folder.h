// Where the files lie that the program brings along: cohort-sandboxd and cohort_reward.py.
#pragma once

#include <filesystem>

namespace cohort {

/// The folder of the program, or COHORT_PROGRAM_FOLDER where that is set: a run in a Python process, to which
/// the program handed it, finds its files there.
std::filesystem::path program_folder();

/// The name of that variable of the environment.
inline constexpr const char* kProgramFolder = "COHORT_PROGRAM_FOLDER";

}  // namespace cohort
