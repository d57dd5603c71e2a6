#include "cohort/env/tool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "libs/common/nearest.h"
#include "libs/json_schema/schema.h"

namespace cohort {

Tool::Tool(std::string name, const std::string& description, Json parameters)
    : name_(std::move(name)),
      schema_{{"type", "function"},
              {"function",
               {{"name", name_}, {"description", description}, {"parameters", std::move(parameters)}}}} {}

Tool::Tool(Json schema) : schema_(std::move(schema)) {
  const Json function = schema_.is_object() ? schema_.value("function", Json()) : Json();
  if (!function.is_object() || !function.contains("parameters") ||
      !function.value("name", Json()).is_string())
    throw ConfigError("a tool's schema needs \"function\" with \"name\" and \"parameters\": " +
                      to_json_text(schema_));
  name_ = function.at("name").get<std::string>();
}

struct ToolEnvironment::Entry {
  std::unique_ptr<Tool> tool;
  json_schema::Schema parameters;
};

namespace {

json_schema::Value exact_value(const Json& value, const std::string& name) {
  std::string fault;
  auto read = json_schema::read_value(to_lenient_json_text(value), fault);
  if (!read) throw ConfigError(str("tool ", name, ": the schema of its parameters: ", fault));
  return *std::move(read);
}

json_schema::Schema schema_of(const Tool& tool) {
  try {
    return json_schema::Schema(exact_value(tool.schema().at("function").at("parameters"), tool.name()));
  } catch (const json_schema::SchemaError& error) {
    throw ConfigError(str("tool ", tool.name(), ": the schema of its parameters: ", error.what()));
  }
}

/// An error in the words that TRL uses for its tools' errors.
std::string error_text(const std::string& error) { return to_json_text(Json{{"error", error}}); }

/// A tool that a process has.
class ProcessTool : public Tool {
 public:
  ProcessTool(Json schema, ToolProcesses& processes) : Tool(std::move(schema)), processes_(processes) {}

  ToolResult call(const Json& arguments, int64_t episode) override {
    const Json answer = processes_.ask(episode, {{"op", "call"}, {"name", name()}, {"arguments", arguments}});
    const bool is_error = answer.contains("tool_error");
    const Json text = answer.value(is_error ? "tool_error" : "content", Json());
    if (!text.is_string()) throw EnvironmentFailure(str("the tool ", name(), " answered no text"));
    return {text.get<std::string>(), is_error, processes_.reward_in(answer), processes_.state_in(answer)};
  }

 private:
  ToolProcesses& processes_;
};

class ToolEpisode : public Episode {
 public:
  ToolEpisode(ToolEnvironment& environment, int64_t number)
      : environment_(environment), number_(number), life_(std::make_shared<Life>()) {}

  ~ToolEpisode() override {
    life_->is_over = true;
    environment_.run(number_, [&environment = environment_, number = number_, life = life_] {
      const std::lock_guard lock(life->calls);
      environment.end(number);
    });
  }

  void respond(const AssistantMessage& turn, bool is_last, Begun begun, Answer answer) override {
    if (is_last || turn.tool_calls.empty()) {
      answer(Reply{});
      return;
    }
    environment_.run(number_,
                     [&environment = environment_, number = number_, life = life_, calls = turn.tool_calls,
                      begun = std::move(begun), answer = std::move(answer)] {
                       begun();
                       Reply reply;
                       try {
                         const std::lock_guard lock(life->calls);
                         for (const ToolCall& call : calls) {
                           if (life->is_over) break;
                           environment.answer(call, number, reply);
                         }
                       } catch (const std::exception& error) {
                         reply.failure = error.what();
                       }
                       answer(std::move(reply));
                     });
  }

  void judge(Begun begun, Judgement judgement) override {
    environment_.run(number_, [&environment = environment_, number = number_, begun = std::move(begun),
                               judgement = std::move(judgement)] {
      begun();
      try {
        judgement(environment.judge(number));
      } catch (const std::exception& error) {
        judgement({0.0, RewardStatus::kError, error.what()});
      }
    });
  }

 private:
  /// Outlives the episode while a job of it runs.
  struct Life {
    std::mutex calls;  // the calls of a turn hold it, so that the end waits for them
    std::atomic<bool> is_over = false;
  };

  ToolEnvironment& environment_;
  int64_t number_;
  std::shared_ptr<Life> life_;
};

}  // namespace

ToolEnvironment::ToolEnvironment(std::vector<std::unique_ptr<Tool>> tools,
                                 std::vector<std::unique_ptr<ToolProcesses>> processes, int64_t num_threads)
    : processes_(std::move(processes)), num_threads_(num_threads), threads_(num_threads) {
  for (std::unique_ptr<Tool>& tool : tools) add(std::move(tool));
  for (const auto& program : processes_) {
    for (const Json& schema : program->tools()) add(std::make_unique<ProcessTool>(schema, *program));
    gives_turn_rewards_ |= program->gives_turn_rewards();
    if (program->gives_states() && std::exchange(has_states_, true))
      throw ConfigError("two environments give states: leave one of them");
    if (!program->gives_rewards()) continue;
    if (judge_ != nullptr) throw ConfigError("two environments judge the episodes: leave one of them");
    judge_ = program.get();
  }
  if (tools_.empty())
    throw ConfigError("the environment has no tool: give it a public method, or add a [[tool]]");
}

ToolEnvironment::~ToolEnvironment() = default;

void ToolEnvironment::run(int64_t episode, std::function<void()> job) {
  // A thread must not wait for a process while another process has nothing to do.
  threads_.add(std::move(job), processes_.empty() ? std::nullopt : std::optional(episode % num_threads_));
}

void ToolEnvironment::add(std::unique_ptr<Tool> tool) {
  for (const auto& other : tools_) {
    if (other->tool->name() == tool->name())
      throw ConfigError(str("two tools have the name \"", tool->name(), "\""));
  }
  tools_.push_back(std::unique_ptr<Entry>(new Entry{nullptr, schema_of(*tool)}));
  tools_.back()->tool = std::move(tool);
}

Json ToolEnvironment::tools() const {
  Json schemas = Json::array();
  for (const auto& entry : tools_) schemas.push_back(entry->tool->schema());
  return schemas;
}

std::vector<Opening> ToolEnvironment::begin(const std::vector<EpisodeStart>& starts) {
  const bool has_episodes =
      std::ranges::any_of(processes_, [](const auto& each) { return each->has_episodes(); });
  std::vector<Opening> openings(starts.size());
  std::mutex mutex;
  std::condition_variable changed;
  size_t num_begun = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t number = num_episodes_++;
    openings[i].episode = std::make_unique<ToolEpisode>(*this, number);
    if (!has_episodes) continue;
    run(number, [&, i, number] {
      begin_one(starts[i], number, openings[i]);
      const std::lock_guard lock(mutex);
      ++num_begun;
      changed.notify_one();
    });
  }
  if (!has_episodes) return openings;
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return num_begun == starts.size(); });
  return openings;
}

void ToolEnvironment::begin_one(const EpisodeStart& start, int64_t episode, Opening& opening) const {
  try {
    Json row = start.prompt->fields;
    row["prompt"] = row.contains("prompt_messages") ? row["prompt_messages"] : Json(start.prompt->text);
    row.erase("prompt_messages");
    for (const auto& program : processes_) {
      if (!program->has_episodes()) continue;
      const Json answer = program->ask(episode, {{"op", "begin"}, {"row", row}});
      const Json observation = answer.value("observation", Json(""));
      if (!observation.is_string()) throw EnvironmentFailure("the environment's \"observation\" is no text");
      opening.observation += observation.get<std::string>();
      if (program->gives_states()) opening.state = program->state_in(answer);
    }
  } catch (const std::exception& error) {
    opening.failure = error.what();
  }
}

RewardResult ToolEnvironment::judge(int64_t episode) const {
  const Json score = judge_->ask(episode, {{"op", "judge"}}).value("score", Json());
  if (score.is_null()) return {0.0, RewardStatus::kSkipped, ""};
  if (!score.is_number()) throw EnvironmentFailure("the environment's \"score\" is no number");
  return {score.get<double>()};
}

void ToolEnvironment::end(int64_t episode) {
  for (const auto& entry : tools_) entry->tool->end(episode);
  for (const auto& program : processes_) {
    try {
      if (program->has_episodes()) program->ask(episode, {{"op", "end"}});
    } catch (const EnvironmentFailure&) {
      continue;  // the episode is over, and what the process forgets with it, too
    }
  }
}

void ToolEnvironment::answer(const ToolCall& call, int64_t episode, Reply& reply) const {
  ToolResult result{call.error.empty() ? "" : error_text(call.error), !call.error.empty()};
  const auto found =
      std::ranges::find_if(tools_, [&](const auto& e) { return e->tool->name() == call.name; });
  if (!result.is_error && found == tools_.end()) {
    std::vector<std::string> names;
    names.reserve(tools_.size());
    for (const auto& entry : tools_) names.push_back(entry->tool->name());
    result = {
        error_text(str("Tool ", call.name, " not found; did you mean ", nearest_name(call.name, names), "?")),
        true};
  } else if (!result.is_error) {
    const auto fault = json_schema::find_fault((*found)->parameters, exact_value(call.arguments, call.name));
    if (fault) {
      result = {error_text(kWrongArguments + *fault), true};
    } else {
      const auto begin = std::chrono::steady_clock::now();
      result = (*found)->tool->call(call.arguments, episode);
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      reply.times.push_back({call.name, time.count()});
      if (result.is_error) result.content = error_text(result.content);
    }
  }
  Json message = {{"role", "tool"}, {"name", call.name}, {"content", std::move(result.content)}};
  if (!call.id.empty()) message["tool_call_id"] = call.id;
  reply.messages.push_back(std::move(message));
  ++reply.num_calls;
  reply.num_failed_calls += result.is_error;
  if (!std::isnan(result.reward))
    reply.reward = (std::isnan(reply.reward) ? 0.0 : reply.reward) + result.reward;
  if (result.state) reply.state = result.state;
}

}  // namespace cohort
