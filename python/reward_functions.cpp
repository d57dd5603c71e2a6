#include "python/reward_functions.h"

#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "python/calls.h"
#include "python/shared_function.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

RewardResult read_result(const py::handle& value) {
  if (value.is_none()) return {0.0, RewardStatus::kSkipped, "the function has no reward for the row"};
  if (py::isinstance<py::str>(value)) return {0.0, RewardStatus::kError, value.cast<std::string>()};
  return {value.cast<double>(), RewardStatus::kOk, ""};
}

/// Scores all completions of a step in one call, on the thread that takes the step.
class FunctionReward : public Reward {
 public:
  explicit FunctionReward(SharedFunction function) : function_(std::move(function)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).front();
  }

  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    check_not_ending();
    const py::gil_scoped_acquire lock;
    py::list arguments;
    for (const RewardRow& row : rows) {
      const auto& episode = row.completion.episode;
      arguments.append(
          py::make_tuple(row.prompt.id, row.completion.text, row.completion.token_ids,
                         episode ? py::object(py::str(to_json_text(episode->messages))) : py::none(),
                         episode ? episode->number : -1));
    }
    std::vector<RewardResult> results;
    for (const py::handle value : (*function_)(arguments)) results.push_back(read_result(value));
    owner_.check();
    return results;
  }

  int64_t num_workers() const override { return 0; }

 private:
  SharedFunction function_;
  Owner owner_;
};

}  // namespace

RewardTypes function_rewards(const py::dict& functions) {
  auto shared = std::make_shared<std::map<std::string, SharedFunction>>();
  for (const auto& [name, function] : functions)
    (*shared)[name.cast<std::string>()] = share(py::reinterpret_borrow<py::function>(function));
  const auto make = [shared](const RewardConfig& config) -> std::unique_ptr<Reward> {
    const auto found = shared->find(config.name);
    if (found == shared->end())
      throw ConfigError(
          str("reward ", config.name, ": type = \"callable\" is for functions of Python alone"));
    return std::make_unique<FunctionReward>(found->second);
  };
  return {{"callable", "What a function of the Python program returns.", {make}}};
}

}  // namespace cohort::python
