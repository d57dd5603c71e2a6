// The channels of gpt-oss, after "<|start|>assistant":
//   <|channel|>analysis<|message|>reasoning<|end|>
//   <|start|>assistant<|channel|>commentary to=functions.name <|constrain|>json<|message|>{...}<|call|>
//   <|start|>assistant<|channel|>final<|message|>answer<|return|>
// The recipient may also stand before the channel.
#include <algorithm>

#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

constexpr std::string_view kStart = "<|start|>assistant";
constexpr std::string_view kRecipient = "to=functions.";

/// The name at the front of a text: up to white space or the next special token.
std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" \t\r\n<")); }

std::string_view without_end(std::string_view body) {
  for (const std::string_view mark : {"<|end|>", "<|call|>", "<|return|>"})
    body = body.substr(0, body.find(mark));
  return body;
}

void append(std::string& text, std::string_view more) {
  if (!text.empty() && !more.empty()) text += '\n';
  text += more;
}

void read_part(std::string_view part, AssistantMessage& message) {
  const auto header = take_until(part, "<|message|>");
  if (!header) {
    append(message.content, without_end(part));
    return;
  }
  const std::string_view body = without_end(part);
  if (const size_t place = header->find(kRecipient); place != std::string_view::npos) {
    message.tool_calls.push_back(
        call_with_arguments(first_word(header->substr(place + kRecipient.size())), body));
    return;
  }
  std::string_view channel = *header;
  const bool has_channel = take_until(channel, "<|channel|>").has_value();
  const bool is_reasoning = has_channel && first_word(channel) == "analysis";
  append(is_reasoning ? message.reasoning_content : message.content, body);
}

}  // namespace

void parse_harmony(std::string_view text, const Json&, AssistantMessage& message) {
  if (text.starts_with(kStart)) text.remove_prefix(kStart.size());
  while (true) {
    const auto part = take_until(text, kStart);
    read_part(part.value_or(text), message);
    if (!part) return;
  }
}

}  // namespace cohort
