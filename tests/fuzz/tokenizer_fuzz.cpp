// tokenizer.json and tokenizer_config.json from outside: a file is refused with a UserError, or the tokenizer
// keeps its promises on a few texts. The input is the one file, a zero byte, the other file, a zero byte, a
// text.
#include <cstdint>
#include <string>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/text/incremental_detokenizer.h"
#include "cohort/text/tokenizer.h"
#include "libs/common/utf8.h"

namespace {

using namespace cohort;

std::string_view take_part(std::string_view& input) {
  const size_t end = input.find('\0');
  const std::string_view part = input.substr(0, end);
  input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  return part;
}

void check_text(const Tokenizer& tokenizer, std::string_view text) {
  const Encoding encoding = tokenizer.encode_with_offsets(text);
  COHORT_CHECK(encoding.ids == tokenizer.encode(text), "Offsets change ids.");
  COHORT_CHECK(encoding.ids.size() == encoding.offsets.size(), "An id lacks its offsets.");
  for (const bool skip : {true, false}) {
    const DecodeOptions options{.skip_special_tokens = skip};
    const std::string decoded = tokenizer.decode(encoding.ids, options);
    COHORT_CHECK(!find_invalid_utf8(decoded), "Decoded text is not well-formed.");
    IncrementalDetokenizer detokenizer(tokenizer, options);
    std::string joined;
    for (const int32_t id : encoding.ids) joined += detokenizer.push(id);
    COHORT_CHECK(joined + detokenizer.finish() == decoded, "Text that comes in parts differs.");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view file = take_part(input);
  const std::string_view config = take_part(input);
  try {
    const Tokenizer tokenizer = Tokenizer::from_json(file, config);
    for (const std::string_view text :
         {input.substr(0, 4096), std::string_view("a b<s>\u2581\u00e9 e\u0301  12-ab\n")}) {
      try {
        check_text(tokenizer, text);
      } catch (const UserError&) {
      }
    }
  } catch (const UserError&) {
  }
  return 0;
}
