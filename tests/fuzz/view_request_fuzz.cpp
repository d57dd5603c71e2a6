// Any bytes as path and query of a request to the page's server. The first line is the path, the rest the
// query.
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "cohort/view/view_handler.h"
#include "tests/view/recorded_answer.h"
#include "tests/view/run_case.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cohort;
  static const RunCase run;
  static ViewHandler handler({run.path()}, "127.0.0.1", "");
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find('\n'), text.size());
  IncomingRequest request = get_request(text.substr(0, end));
  if (end < text.size()) request.query = text.substr(end + 1);
  const auto answer = std::make_shared<RecordedAnswer>();
  handler.handle(request, answer);
  // The records are whole, so that every request has an answer that is no error of the server.
  const bool is_stream = !answer->stream.empty();
  if (is_stream ? answer->num_sent != 0 : answer->num_sent != 1 || answer->status >= 500) std::abort();
  if (is_stream) answer->closed();
  return 0;
}
