#include "python/python_environment.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cohort/core/exact_json.h"
#include "python/calls.h"
#include "python/shared_function.h"

namespace py = pybind11;

namespace cohort::python {
namespace {

Json to_json(const std::vector<ToolCall>& calls) {
  Json list = Json::array();
  for (const ToolCall& call : calls)
    list.push_back(
        {{"name", call.name}, {"arguments", call.arguments}, {"id", call.id}, {"error", call.error}});
  return list;
}

std::optional<int64_t> number_of(const std::optional<std::string>& state) {
  return state ? std::optional(state_number(*state)) : std::nullopt;
}

class PythonEpisode : public Episode {
 public:
  PythonEpisode(SharedFunction respond, SharedFunction judge, int64_t number)
      : respond_(std::move(respond)), judge_(std::move(judge)), number_(number) {}

  void respond(const AssistantMessage& turn, bool is_last, Begun begun, Answer answer) override {
    if (is_last || turn.tool_calls.empty()) {
      answer(Reply{});
      return;
    }
    check_not_ending();
    const py::gil_scoped_acquire lock;
    const auto num_calls = static_cast<int64_t>(turn.tool_calls.size());
    const py::cpp_function take(
        [answer, num_calls](const std::string& messages, int64_t num_failed,
                            const std::vector<std::pair<std::string, double>>& seconds,
                            std::optional<double> reward, const std::optional<std::string>& state,
                            const std::string& failure) {
          std::vector<CallTime> times;
          for (const auto& [tool, of_call] : seconds) times.push_back({tool, of_call});
          answer({.messages = parse_exact_json(messages),
                  .reward = reward.value_or(kNoReward),
                  .num_calls = num_calls,
                  .num_failed_calls = num_failed,
                  .times = std::move(times),
                  .state = number_of(state),
                  .failure = failure});
        });
    (*respond_)(number_, to_lenient_json_text(to_json(turn.tool_calls)), py::cpp_function(begun), take);
  }

  void judge(Begun begun, Judgement judgement) override {
    check_not_ending();
    const py::gil_scoped_acquire lock;
    const py::cpp_function take([judgement](std::optional<double> score, const std::string& failure) {
      const RewardStatus status = !failure.empty() ? RewardStatus::kError
                                  : score          ? RewardStatus::kOk
                                                   : RewardStatus::kSkipped;
      judgement({score.value_or(0.0), status, failure});
    });
    (*judge_)(number_, py::cpp_function(begun), take);
  }

 private:
  SharedFunction respond_, judge_;
  int64_t number_;
};

class PythonEnvironment : public Environment {
 public:
  /// What the object says of itself and its functions.
  struct Parts {
    Json tools;
    bool gives_states, gives_turn_rewards;
    SharedFunction begin, respond, judge;
  };

  explicit PythonEnvironment(Parts parts) : parts_(std::move(parts)) {}

  Json tools() const override { return parts_.tools; }
  bool gives_states() const override { return parts_.gives_states; }
  bool gives_turn_rewards() const override { return parts_.gives_turn_rewards; }
  bool gives_rewards() const override { return parts_.gives_turn_rewards; }

  std::vector<Opening> begin(const std::vector<EpisodeStart>& starts) override {
    check_not_ending();
    const py::gil_scoped_acquire lock;
    py::list rows;
    for (const EpisodeStart& start : starts) rows.append(start.prompt->id);
    std::vector<Opening> openings;
    for (const py::handle begun : (*parts_.begin)(rows)) {
      const auto [number, observation, failure, state] =
          begun.cast<std::tuple<int64_t, std::string, std::string, std::optional<std::string>>>();
      auto episode = std::make_unique<PythonEpisode>(parts_.respond, parts_.judge, number);
      openings.push_back({std::move(episode), observation, failure, number, number_of(state)});
    }
    return openings;
  }

 private:
  Parts parts_;
};

}  // namespace

std::unique_ptr<Environment> python_environment(const py::object& environments) {
  const auto function = [&](const char* name) { return share(environments.attr(name).cast<py::function>()); };
  Json tools = parse_exact_json(environments.attr("schemas").cast<std::string>());
  if (tools.is_array() && tools.empty()) tools = nullptr;
  const auto says = [&](const char* name) { return environments.attr(name).cast<bool>(); };
  return std::make_unique<PythonEnvironment>(
      PythonEnvironment::Parts{std::move(tools), says("gives_states"), says("gives_turn_rewards"),
                               function("begin"), function("respond"), function("judge")});
}

}  // namespace cohort::python
