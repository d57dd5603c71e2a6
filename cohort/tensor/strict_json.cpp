// The parser's events are watched for keys that come twice: the document itself would keep only one of them.
#include "cohort/tensor/strict_json.h"

#include <set>
#include <vector>

#include "cohort/core/error.h"

namespace cohort {

nlohmann::json parse_strict_object(std::string_view text, const std::string& where) {
  using Event = nlohmann::json::parse_event_t;
  constexpr int kMaxDepth = 16;
  std::vector<std::set<std::string>> keys;
  auto watch = [&](int depth, Event event, nlohmann::json& parsed) {
    if (depth > kMaxDepth) throw FormatError(str(where, ": nested deeper than ", kMaxDepth, " levels"));
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw FormatError(str(where, ": the key ", parsed.dump(), " comes twice"));
    }
    return true;
  };
  // Checked here because the parser would skip a byte order mark.
  if (text.empty() || text.front() != '{') throw FormatError(str(where, ": does not begin with '{'"));
  try {
    return nlohmann::json::parse(text.begin(), text.end(), watch);
  } catch (const nlohmann::json::parse_error& error) {
    throw FormatError(str(where, ": is not valid JSON at byte ", error.byte));
  } catch (const nlohmann::json::exception& error) {
    throw FormatError(str(where, ": is not valid JSON: ", error.what()));
  }
}

}  // namespace cohort
