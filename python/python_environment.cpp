#include "python/python_environment.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

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

class PythonEpisode : public Episode {
 public:
  PythonEpisode(SharedFunction respond, int64_t number) : respond_(std::move(respond)), number_(number) {}

  void respond(const AssistantMessage& turn, bool is_last, Answer answer) override {
    if (is_last || turn.tool_calls.empty()) {
      answer(Reply{});
      return;
    }
    check_not_ending();
    const py::gil_scoped_acquire lock;
    const auto num_calls = static_cast<int64_t>(turn.tool_calls.size());
    const py::cpp_function take([answer, num_calls](const std::string& messages, int64_t num_failed) {
      answer(
          {.messages = parse_exact_json(messages), .num_calls = num_calls, .num_failed_calls = num_failed});
    });
    (*respond_)(number_, to_lenient_json_text(to_json(turn.tool_calls)), take);
  }

 private:
  SharedFunction respond_;
  int64_t number_;
};

class PythonEnvironment : public Environment {
 public:
  PythonEnvironment(Json tools, SharedFunction begin, SharedFunction respond)
      : tools_(std::move(tools)), begin_(std::move(begin)), respond_(std::move(respond)) {}

  Json tools() const override { return tools_; }

  std::vector<Opening> begin(const std::vector<EpisodeStart>& starts) override {
    check_not_ending();
    const py::gil_scoped_acquire lock;
    py::list rows;
    for (const EpisodeStart& start : starts) rows.append(start.prompt->id);
    std::vector<Opening> openings;
    for (const py::handle begun : (*begin_)(rows)) {
      const auto [number, observation, failure] = begun.cast<std::tuple<int64_t, std::string, std::string>>();
      openings.push_back({std::make_unique<PythonEpisode>(respond_, number), observation, failure, number});
    }
    return openings;
  }

 private:
  Json tools_;
  SharedFunction begin_, respond_;
};

}  // namespace

std::unique_ptr<Environment> python_environment(const py::object& environments) {
  const auto function = [&](const char* name) { return share(environments.attr(name).cast<py::function>()); };
  Json tools = parse_exact_json(environments.attr("schemas").cast<std::string>());
  if (tools.is_array() && tools.empty()) tools = nullptr;
  return std::make_unique<PythonEnvironment>(std::move(tools), function("begin"), function("respond"));
}

}  // namespace cohort::python
