#include "cohort/tensor/one_thread.h"

#include <ATen/Parallel.h>

// Of the runtime that torch brings; clang lacks its header.
extern "C" void omp_set_num_threads(int);
extern "C" int omp_get_max_threads();
// MKL's own number, for the calling thread; 0 is the program's. Torch has no MKL on every processor.
extern "C" [[gnu::weak]] int MKL_Set_Num_Threads_Local(int);  // NOLINT(readability-identifier-naming)

namespace cohort {
namespace {

int set_mkl_threads(int number) {
  return MKL_Set_Num_Threads_Local == nullptr ? 0 : MKL_Set_Num_Threads_Local(number);
}

}  // namespace

OneThread::OneThread() {
  // at::set_num_threads changes what threads to come begin with, and MKL for all of them. A thread's first
  // question for the number sets OpenMP's, which is its own: so ask first.
  at::get_num_threads();
  num_threads_ = omp_get_max_threads();
  omp_set_num_threads(1);
  mkl_threads_ = set_mkl_threads(1);
}

OneThread::~OneThread() {
  set_mkl_threads(mkl_threads_);
  omp_set_num_threads(num_threads_);
}

}  // namespace cohort
