#include "cohort/core/toml_json.h"

#include <toml++/toml.h>

#include <cmath>
#include <sstream>
#include <string>

#include "cohort/core/error.h"
#include "cohort/core/input_file.h"

namespace cohort {
namespace {

Json json_of(const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value);
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    Json list = Json::array();
    for (const toml::node& element : *array) list.push_back(json_of(element));
    return list;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_floating_point(); value != nullptr && std::isfinite(value->get()))
    return value->get();
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

}  // namespace

Json read_toml(const std::filesystem::path& path) {
  const std::string text = read_whole_file(path);
  try {
    return json_of(toml::parse(text, path.string()));
  } catch (const toml::parse_error& error) {
    throw FormatError(
        str(path.string(), ":", error.source().begin.line, ": malformed TOML: ", error.description()));
  }
}

}  // namespace cohort
