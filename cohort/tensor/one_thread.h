// Computing on the calling thread alone.
#pragma once

namespace cohort {

/// Lets torch compute on the calling thread alone until the end of a scope; others keep their number.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int num_threads_;
};

}  // namespace cohort
