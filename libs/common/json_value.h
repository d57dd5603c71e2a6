// The type of JSON values that keep the order of their keys.
#pragma once

#include <nlohmann/json.hpp>

namespace cohort {

using Json = nlohmann::ordered_json;

}  // namespace cohort
