// The extension `cohort._cohort`: its submodules, and what errors become in Python.
#include <pybind11/pybind11.h>
#include <torch/csrc/Exceptions.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cohort/core/error.h"
#include "cohort/core/file_error.h"
#include "python/calls.h"
#include "python/modules.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

/// OSError, as the subclass that Python has for the number (FileNotFoundError, PermissionError, ...).
void set_os_error(int number, const char* text) {
  const py::object error = py::reinterpret_borrow<py::object>(PyExc_OSError)(number, text);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void translate(std::exception_ptr error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const FileError& file_error) {
    set_os_error(file_error.number(), file_error.what());
  } catch (const UserError& user_error) {
    PyErr_SetString(PyExc_ValueError, user_error.what());
  } catch (const InternalError& wrong_shape) {  // the objectives' own checks
    PyErr_SetString(PyExc_ValueError, wrong_shape.what());
  } catch (const std::filesystem::filesystem_error& file_error) {
    set_os_error(file_error.code().value(), file_error.what());
  } catch (const c10::Error& torch_error) {  // without the backtrace
    PyErr_SetString(PyExc_RuntimeError, torch_error.what_without_backtrace());
  } catch (python_error& raised) {  // what Python raised within a backward pass
    raised.restore();
  }
}

}  // namespace
}  // namespace cohort::python

PYBIND11_MODULE(_cohort, module) {
  module.doc() = "The engine of Cohort; cohort.objectives and cohort.Engine say how to call it.";
  py::register_exception_translator(&cohort::python::translate);
  cohort::python::add_objectives(module.def_submodule("objectives"));
  cohort::python::add_engine(module.def_submodule("engine"));
  cohort::python::add_trainer(module.def_submodule("trainer"));
  cohort::python::end_calls_at_exit();
  cohort::python::add_rewards(module.def_submodule("rewards"));
}
