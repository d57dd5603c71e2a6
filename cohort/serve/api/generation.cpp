#include "cohort/serve/api/generation.h"

namespace cohort {

std::string server_sent_event(const Json& data, const std::string& event) {
  return (event.empty() ? "" : "event: " + event + "\n") + "data: " + to_json_text(data) + "\n\n";
}

}  // namespace cohort
