// The module `cohort._cohort.rewards`: built-in rewards for completions that a Python program has.
// python/cohort/rewards.py calls it. Rewards work on the caller's thread, without Python's global lock.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/core/time_text.h"
#include "cohort/reward_models/all_rewards.h"
#include "cohort/rewards/prompt_column.h"
#include "python/modules.h"
#include "python/settings.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

/// A reward of the type `type` with the type's own keys.
std::unique_ptr<Reward> make(const std::string& type, const py::dict& keys) {
  const RewardTypes types = all_rewards({{}, present_time()});
  RewardConfig config{.name = type};
  const auto known = std::ranges::find(types, type, &RewardType::name);
  if (known != types.end()) {
    Section own = known->maker.own_keys();
    for (Field& key : own.fields) key = field_in(config.keys, key);
    set_keys(own, keys);
  }
  return make_reward(config, types);
}

/// A row as the engine sees it: `completion`, `completion_ids` and `prompt` have their own places.
std::pair<Prompt, Completion> read_row(const std::string& line, int64_t place) {
  std::pair<Prompt, Completion> row;
  auto& [prompt, completion] = row;
  prompt.id = str("row ", place);
  completion.finish_reason = FinishReason::kStop;
  const Json columns = parse_json_line(line, "rows", place + 1);
  for (const auto& [key, value] : columns.items()) {
    if (key == "completion") {
      completion.text = value.get<std::string>();
    } else if (key == "completion_ids") {
      completion.token_ids = value.get<std::vector<int32_t>>();
    } else if (key == "prompt") {
      read_prompt_column(value, prompt);
    } else {
      prompt.fields[key] = value;
    }
  }
  return row;
}

/// Score (None unless the status is "ok"), status and detail.
using Result = std::tuple<std::optional<double>, std::string, std::string>;

class BuiltinReward {
 public:
  BuiltinReward(const std::string& type, const py::dict& keys) : reward_(make(type, keys)) {}

  std::vector<Result> score(const std::vector<std::string>& lines) {
    std::vector<std::pair<Prompt, Completion>> held;
    for (const std::string& line : lines) held.push_back(read_row(line, std::ssize(held)));
    std::vector<RewardRow> rows;
    for (const auto& [prompt, completion] : held) rows.push_back({prompt, completion});
    const std::lock_guard lock(mutex_);
    std::vector<Result> results;
    for (std::span<const RewardRow> rest(rows); !rest.empty();) {
      const size_t count = rows_of_call(rest);
      for (const RewardResult& cell : reward_->score_batch(rest.first(count)))
        results.push_back(to_result(cell));
      rest = rest.subspan(count);
    }
    return results;
  }

  /// What the reward read in completion and row, and how: (label, text).
  std::vector<std::pair<std::string, std::string>> explain(const std::string& line) const {
    const auto [prompt, completion] = read_row(line, 0);
    std::vector<std::pair<std::string, std::string>> remarks;
    for (Remark& remark : reward_->explain(prompt, completion))
      remarks.emplace_back(std::move(remark.label), std::move(remark.text));
    return remarks;
  }

 private:
  /// How many of `rows` the next call takes: a group, which is the next rows with one prompt, if it compares.
  size_t rows_of_call(std::span<const RewardRow> rows) const {
    if (!reward_->compares()) return std::min(static_cast<size_t>(reward_->batch_size()), rows.size());
    const Prompt& first = rows.front().prompt;
    const auto is_of_group = [&](const RewardRow& row) {
      return row.prompt.text == first.text && row.prompt.fields.value("prompt_messages", Json()) ==
                                                  first.fields.value("prompt_messages", Json());
    };
    return std::ranges::find_if_not(rows, is_of_group) - rows.begin();
  }

  static Result to_result(const RewardResult& cell) {
    const bool is_ok = cell.status == RewardStatus::kOk;
    return {is_ok ? std::optional(cell.score) : std::nullopt, to_string(cell.status), cell.detail};
  }

  std::unique_ptr<Reward> reward_;
  std::mutex mutex_;  // a reward takes a call at a time
};

}  // namespace

void add_rewards(py::module_ module) {
  using released = py::call_guard<py::gil_scoped_release>;
  py::class_<BuiltinReward>(module, "BuiltinReward")
      .def(py::init<const std::string&, const py::dict&>(), py::arg("type"), py::arg("keys"))
      .def("score", &BuiltinReward::score, py::arg("rows"), released())
      .def("explain", &BuiltinReward::explain, py::arg("row"), released());
}

}  // namespace cohort::python
