// A served model without weights, for the readers of requests.
#pragma once

#include "cohort/serve/api/served_model.h"
#include "tests/env/chat_case.h"

namespace cohort {

struct ServedCase {
  ServedCase() {
    config.vocab_size = 258;
    config.context_length = 4096;
    model = describe_served("model", config, chat.tokenizer(), chat.text());
    model.calls = &find_tool_call_format("hermes");
    model.defaults.stop_token_ids = {kEnd};
  }

  ChatCase chat;
  DecoderConfig config;
  ServedModel model;
};

}  // namespace cohort
