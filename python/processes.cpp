#include "python/processes.h"

#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/log.h"
#include "cohort/dist/place.h"
#include "cohort/train/run/same_run.h"
#include "python/calls.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

/// Those that have met. They are not destroyed: a run that Python keeps to its end refers to them.
struct Met {
  std::unique_ptr<dist::Group> group;
  Owner owner;
  std::mutex mutex;  // of a first call
};

Met& met() {
  static auto* const one = new Met;
  return *one;
}

void leave(bool by_error) {
  const Met& all = met();
  if (all.group != nullptr && all.owner.is_here()) all.group->leave(by_error);
}

/// Python notes the exception that ends a program.
void leave_at_exit() {
  const bool by_error = py::hasattr(py::module_::import("sys"), "last_value");
  const py::gil_scoped_release released;
  leave(by_error);
}

/// The methods of `Processes`.
struct ProcessesOfPython {
  dist::Place place = dist::place_of_process();

  std::vector<py::bytes> all_gather(const std::string& own, const std::string& what) const {
    const std::vector<std::string> all =
        without_lock(false, [&] { return processes().all_gather(own, what.c_str()); });
    return {all.begin(), all.end()};
  }

  void barrier(const std::string& what) const {
    without_lock(false, [&] { processes().barrier(what.c_str()); });
  }

  void check_same(const RunFacts& facts) const {
    without_lock(false, [&] { check_same_run(processes(), facts); });
  }

  void fail() const {
    const py::gil_scoped_release released;
    leave(/*by_error=*/true);
  }
};

}  // namespace

dist::Group& processes() {
  const dist::Place place = dist::place_of_process();
  if (place.size == 1) return dist::alone();
  Met& all = met();
  all.owner.check();
  const std::lock_guard lock(all.mutex);
  if (all.group == nullptr) {
    dist::end_with_agent();
    all.group = std::make_unique<dist::Group>(place);
    if (!all.group->is_first()) log_warnings_alone(str("rank ", all.group->rank(), ": "));
  }
  return *all.group;
}

void add_processes(py::module_& module) {
  py::register_exception<dist::RankLost>(module, "RankLost", PyExc_RuntimeError);
  module.attr("RANK_LOST_EXIT_CODE") = dist::kRankLostExitCode;
  py::class_<ProcessesOfPython>(module, "Processes")
      .def(py::init<>())
      .def_property_readonly("rank", [](const ProcessesOfPython& self) { return self.place.rank; })
      .def_property_readonly("size", [](const ProcessesOfPython& self) { return self.place.size; })
      .def_property_readonly("local_rank",
                             [](const ProcessesOfPython& self) { return self.place.local_rank; })
      .def("all_gather", &ProcessesOfPython::all_gather, py::arg("own"), py::arg("what"))
      .def("barrier", &ProcessesOfPython::barrier, py::arg("what"))
      .def("check_same", &ProcessesOfPython::check_same, py::arg("facts"))
      .def("fail", &ProcessesOfPython::fail);
  py::module_::import("atexit").attr("register")(py::cpp_function(&leave_at_exit));
}

}  // namespace cohort::python
