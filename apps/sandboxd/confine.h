// Process 2 of a job: from a fork of the launcher to the tested program.
#pragma once

#include "apps/sandboxd/job.h"

namespace cohort {

/// Gives up all rights, step by step, and executes the job's program or `escape`. When a step fails the
/// JobReport that says so is written to `failures`, which the program does not inherit.
[[noreturn]] void run_program(const Cell& cell, const SandboxJob& job, const Escape& escape,
                              const JobFiles& files, int failures);

}  // namespace cohort
