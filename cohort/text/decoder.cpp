#include "cohort/text/decoder.h"

#include "cohort/core/error.h"
#include "cohort/text/byte_level.h"

namespace cohort {

Decoder::Decoder(const TokenizerJson& config) {
  const std::vector<TokenizerJson> steps = flatten_sequence(config, "decoders", "decoder");
  for (const TokenizerJson& step : steps) {
    const std::string type = string_field(step, "type", "decoder");
    if (type != "ByteLevel") throw_unsupported("decoder", type, "ByteLevel, Sequence");
  }
  if (steps.size() != 1) throw FormatError("decoder: must be exactly one ByteLevel");
}

std::string Decoder::token_bytes(const std::string& token) const {
  return from_byte_characters(token).value_or(token);
}

}  // namespace cohort
