// The activation functions of the MLP.
#pragma once

#include <cstdint>

namespace cohort {

enum class Activation : int64_t {
  kSilu,      ///< x / (1 + e^-x)
  kGeluTanh,  ///< x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, arXiv:1606.08415 section 2
};

}  // namespace cohort
