// Python functions that the engine keeps and calls from any thread.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

namespace cohort::python {

/// A Python function that may be copied and destroyed without the global lock.
using SharedFunction = std::shared_ptr<const pybind11::function>;

inline SharedFunction share(pybind11::function function) {
  return {new pybind11::function(std::move(function)), [](const pybind11::function* last) {
            const pybind11::gil_scoped_acquire lock;
            delete last;
          }};
}

}  // namespace cohort::python
