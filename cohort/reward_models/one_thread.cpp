#include "cohort/reward_models/one_thread.h"

#include <ATen/Parallel.h>

extern "C" void omp_set_num_threads(int);  // of the runtime that torch brings; clang lacks its header

namespace cohort {

void compute_on_one_thread() {
  // at::set_num_threads changes what threads to come begin with, and MKL for all of them. A thread's first
  // question for the number sets OpenMP's, which is its own: so ask first.
  at::get_num_threads();
  omp_set_num_threads(1);
}

}  // namespace cohort
