#include "cohort/rewards/tool_trace.h"

namespace cohort {
namespace {

/// The error of a tool's message; nothing if it is a result.
std::optional<std::string> error_of(const Json& message) {
  const auto content = message.find("content");
  if (content == message.end() || !content->is_string()) return std::nullopt;
  const Json value = Json::parse(content->get<std::string>(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object() || value.size() != 1 || !value.contains("error")) return std::nullopt;
  return string_or_json(value["error"]);
}

CallStage stage_of(const std::optional<std::string>& error) {
  if (!error) return CallStage::kExecuted;
  const bool is_refused = error->starts_with(kWrongArguments) ||
                          (error->starts_with("Tool ") && error->find(" not found") != std::string::npos);
  return is_refused ? CallStage::kParsed : CallStage::kValid;
}

TracedCall call_in(const Json& call) {
  const Json function = call.value("function", call);
  return {function.value("name", ""), function.value("arguments", Json::object())};
}

/// The results of one turn beside its calls. A malformed call is answered, but is not among the turn's calls.
void add_turn(const Json& calls, const std::vector<Json>& results, std::vector<TracedCall>& trace) {
  size_t next = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::optional<std::string> error = error_of(results[i]);
    const CallStage stage = stage_of(error);
    const bool has_surplus = results.size() - i > calls.size() - next;
    if (next == calls.size() || (has_surplus && stage == CallStage::kValid)) {
      trace.push_back({results[i].value("name", ""), Json::object(), CallStage::kMalformed});
      continue;
    }
    TracedCall& call = trace.emplace_back(call_in(calls[next++]));
    call.stage = stage;
  }
}

}  // namespace

std::vector<TracedCall> traced_calls(const EpisodeRecord& episode) {
  std::vector<TracedCall> trace;
  const Json& messages = episode.messages;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].value("role", "") != "assistant") continue;
    std::vector<Json> results;
    const Json& turn = messages[i];
    while (i + 1 < messages.size() && messages[i + 1].value("role", "") == "tool")
      results.push_back(messages[++i]);
    add_turn(turn.value("tool_calls", Json::array()), results, trace);
  }
  return trace;
}

std::optional<std::vector<GoldCall>> read_gold_calls(const Json& column) {
  if (!column.is_array()) return std::nullopt;
  std::vector<GoldCall> calls;
  for (const Json& entry : column) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) return std::nullopt;
    GoldCall call{entry["name"].get<std::string>(), entry.value("arguments", Json::object())};
    if (!call.arguments.is_object()) return std::nullopt;
    for (const Json& place : entry.value("depends_on", Json::array())) {
      const bool is_place = place.is_number_integer() && place >= 0 && place < calls.size();
      if (!is_place) return std::nullopt;
      call.depends_on.push_back(place.get<size_t>());
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace cohort
