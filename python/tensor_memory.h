// Where torch's tensors on the CPU have their memory in Python's process.
#pragma once

namespace cohort::python {

/// Lets tcmalloc hold the memory of tensors that are made from now on, in the whole process, as it does in
/// the program. Steps allocate large tensors of varying sizes, which fragment the heap of glibc's malloc. All
/// other memory stays with Python's malloc. Does nothing in a build for a sanitizer. Throws InternalError if
/// tcmalloc has taken the place of `operator new`.
void hold_tensors_by_tcmalloc();

}  // namespace cohort::python
