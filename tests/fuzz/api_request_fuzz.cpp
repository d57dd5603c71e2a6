// Any bytes as the body of each interface of a server.
#include <cstdint>

#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api_server.h"
#include "tests/serve/served_case.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cohort;
  static const ServedCase served;
  const std::string body(reinterpret_cast<const char*>(data), size);
  for (const ReadApiRequest read :
       {read_chat_completion, read_completion, read_response, read_message, read_generate}) {
    try {
      const ApiRequest request = read(parse_body(body), served.model, 1);
      std::vector<Choice> choices(request.generation.prompts.size() * request.generation.num_choices);
      for (Choice& choice : choices) {
        choice.text = "text";
        choice.message = {.content = "text", .tool_calls = {{.name = "f", .id = "1"}}};
        choice.tokens = {{5, -0.5f, nullptr}};
      }
      AnswerWriter& writer = *request.writer;
      to_json_text(writer.whole(choices));
      std::string events = writer.begin();
      events += writer.piece(0, {"text", true, &choices[0].tokens[0]});
      events += writer.piece(0, {"text", false, nullptr});
      events += writer.end(0, choices[0]);
      events += writer.finish(choices);
    } catch (const ApiError&) {
    }
  }
  return 0;
}
