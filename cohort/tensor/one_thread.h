// Computing on the calling thread alone.
#pragma once

namespace cohort {

/// Lets torch compute on the calling thread alone, as long as that thread lives; others keep their number.
void compute_on_one_thread();

/// The same until the end of a scope. In a parallel region torch takes no further threads anyway, but oneDNN
/// would still choose its order of sums for all of them.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int num_threads_;
  int mkl_threads_;
};

}  // namespace cohort
