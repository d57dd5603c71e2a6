// The tool calls of an episode, read from its messages, and those of a row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cohort/rl/types.h"

namespace cohort {

/// How far a call came.
enum class CallStage : uint8_t {
  kMalformed,  ///< the text was no call
  kParsed,     ///< no such tool, or arguments that the schema forbids
  kValid,      ///< the tool answered with an error
  kExecuted,
};

struct TracedCall {
  std::string name;
  Json arguments = Json::object();
  CallStage stage = CallStage::kExecuted;
};

/// In the order of the episode. Calls that an episode's limits cut off have no result and are left out.
std::vector<TracedCall> traced_calls(const EpisodeRecord& episode);

struct GoldCall {
  std::string name;
  Json arguments = Json::object();
  std::vector<size_t> depends_on{};  ///< places of the calls that must come before it
};

/// The calls of a column; nothing if it is no list of objects with a `name`, optional `arguments`, an object,
/// and `depends_on`, the places of earlier calls, counted from 0.
std::optional<std::vector<GoldCall>> read_gold_calls(const Json& column);

}  // namespace cohort
