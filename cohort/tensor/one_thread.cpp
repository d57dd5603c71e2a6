#include "cohort/tensor/one_thread.h"

#include <ATen/Parallel.h>

// Of the runtime that torch brings; clang lacks its header.
extern "C" void omp_set_num_threads(int);
extern "C" int omp_get_max_threads();

namespace cohort {

OneThread::OneThread() {
  // at::set_num_threads would change what threads to come begin with. A thread's first question for the
  // number sets OpenMP's, which is its own: so ask first.
  at::get_num_threads();
  num_threads_ = omp_get_max_threads();
  omp_set_num_threads(1);
}

OneThread::~OneThread() { omp_set_num_threads(num_threads_); }

}  // namespace cohort
