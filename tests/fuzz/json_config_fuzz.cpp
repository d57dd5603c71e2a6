// config.json of a model directory: any bytes are either a configuration or a FormatError.
#include <cstdint>

#include "cohort/core/error.h"
#include "cohort/models/decoder_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    cohort::parse_decoder_config(cohort::parse_json_line(text, "config.json", 1), "config.json");
  } catch (const cohort::UserError&) {
  }
  return 0;
}
