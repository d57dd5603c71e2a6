// Chat templates: any bytes are a template that renders a conversation, or a TemplateError.
#include <cstdint>
#include <string_view>

#include "libs/jinja/template.h"

namespace {

using cohort::Json;

const Json& variables() {
  static const Json json = Json::parse(R"({
    "messages": [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Größe 日本 😀 <b>\n"},
      {"role": "assistant", "content": "", "reasoning_content": "hm",
       "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1.5, "y": [true, null]}}}]}, {"role": "tool", "content": [1, -2]}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {}}}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "s": "abc", "n": 3, "f": 2.5, "items": [3, 1, 2]})");
  return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  cohort::jinja::RenderOptions options;
  options.now.tm_mday = 1;
  options.limits.steps = 20'000;
  options.limits.bytes = 4 << 20;
  try {
    cohort::jinja::Template(source).render(variables(), options);
  } catch (const cohort::jinja::TemplateError&) {
  }
  return 0;
}
