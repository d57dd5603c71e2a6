#include "cohort/text/tool_calls/literal_reader.h"

#include "cohort/core/exact_json.h"
#include "cohort/text/tool_calls/parsers.h"
#include "libs/common/ascii.h"
#include "libs/common/str.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr int kMaxDepth = 64;

bool is_word_character(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

/// The value of four hexadecimal digits at the front; -1 if they are none.
int read_hex(std::string_view text) {
  if (text.size() < 4) return -1;
  int value = 0;
  for (const char c : text.substr(0, 4)) {
    const size_t digit = std::string_view("0123456789abcdef").find(lower_case(std::string_view(&c, 1)));
    if (digit == std::string_view::npos) return -1;
    value = value * 16 + static_cast<int>(digit);
  }
  return value;
}

}  // namespace

struct LiteralReader::Fault {
  std::string text;
};

void LiteralReader::fail(const char* what) const {
  throw Fault{str("malformed at byte ", whole_.size() - text_.size() + 1, ": ", what)};
}

void LiteralReader::skip_space() {
  text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n"), text_.size()));
}

bool LiteralReader::take(std::string_view mark) {
  skip_space();
  if (!text_.starts_with(mark)) return false;
  text_.remove_prefix(mark.size());
  return true;
}

bool LiteralReader::is_at_end() {
  skip_space();
  return text_.empty();
}

std::string_view LiteralReader::take_word() {
  skip_space();
  size_t end = 0;
  while (end < text_.size() && is_word_character(text_[end])) ++end;
  const std::string_view word = text_.substr(0, end);
  text_.remove_prefix(end);
  return word;
}

ToolCall LiteralReader::read_object_call(std::string_view name) {
  ToolCall call{.name = std::string(trim(name))};
  if (call.name.empty()) return broken_call("a tool call needs the name of a tool");
  try {
    if (!take("{")) fail("expected '{'");
    call.arguments = object(1);
    if (!is_at_end()) fail("expected the end of the call");
  } catch (const Fault& fault) {
    call.arguments = Json::object();
    call.error = "the arguments of a tool call are " + fault.text;
  }
  return call;
}

ToolCall LiteralReader::read_call(std::string_view name) {
  ToolCall call{.name = std::string(trim(name))};
  if (call.name.empty()) return broken_call("a tool call needs the name of a tool");
  try {
    if (!take("(")) fail("expected '('");
    while (!take(")")) {
      const std::string word(take_word());
      if (word.empty() || !take("=")) fail("expected name=value");
      add_argument(call, word, value(1));
      if (!take(",") && !text_.starts_with(')')) fail("expected ',' or ')'");
    }
  } catch (const Fault& fault) {
    call.arguments = Json::object();
    call.error = "the arguments of a tool call are " + fault.text;
  }
  return call;
}

Json LiteralReader::value(int depth) {
  if (depth > kMaxDepth) fail("nested too deeply");
  if (!delimiter_.empty() && take(delimiter_)) return delimited();
  if (take("{")) return object(depth + 1);
  if (take("[")) return list(depth + 1, ']');
  if (take("(")) return list(depth + 1, ')');
  if (take("\"")) return quoted('"');
  if (take("'")) return quoted('\'');
  return scalar();
}

Json LiteralReader::object(int depth) {
  Json result = Json::object();
  while (!take("}")) {
    const std::string name = key();
    if (!take(":")) fail("expected ':' after a key");
    if (result.contains(name)) fail("a key comes twice");
    result[name] = value(depth);
    if (!take(",") && !text_.starts_with('}')) fail("expected ',' or '}'");
  }
  return result;
}

Json LiteralReader::list(int depth, char close) {
  Json result = Json::array();
  while (!take(std::string_view(&close, 1))) {
    result.push_back(value(depth));
    if (!take(",") && !text_.starts_with(close)) fail("expected ',' or the end of a list");
  }
  return result;
}

std::string LiteralReader::key() {
  if (!delimiter_.empty() && take(delimiter_)) return delimited();
  if (take("\"")) return quoted('"');
  if (take("'")) return quoted('\'');
  const std::string_view word = text_.substr(0, text_.find_first_of(":{}[],"));
  if (trim(word).empty()) fail("expected a key");
  text_.remove_prefix(word.size());
  return std::string(trim(word));
}

std::string LiteralReader::delimited() {
  const auto text = take_until(text_, delimiter_);
  if (!text) fail("a string does not end");
  return std::string(*text);
}

std::string LiteralReader::quoted(char quote) {
  std::string result;
  while (!text_.empty() && text_[0] != quote) {
    if (text_[0] != '\\') {
      result += text_[0];
      text_.remove_prefix(1);
      continue;
    }
    if (text_.size() < 2) break;
    const char escaped = text_[1];
    text_.remove_prefix(2);
    constexpr std::string_view kLetters = "nrtbf0";
    constexpr std::string_view kMeanings("\n\r\t\b\f\0", 6);
    if (const size_t place = kLetters.find(escaped); place != std::string_view::npos) {
      result += kMeanings[place];
    } else if (escaped == 'u') {
      int code = read_hex(text_);
      if (code < 0) fail("expected four hexadecimal digits");
      text_.remove_prefix(4);
      if (code >= 0xD800 && code < 0xDC00 && text_.starts_with("\\u")) {
        const int low = read_hex(text_.substr(2));
        if (low < 0xDC00 || low >= 0xE000) fail("half of a surrogate pair");
        text_.remove_prefix(6);
        code = 0x10000 + (code - 0xD800) * 0x400 + low - 0xDC00;
      }
      if (code >= 0xD800 && code < 0xE000) fail("half of a surrogate pair");
      append_utf8(result, static_cast<char32_t>(code));
    } else {
      if (std::string_view("\\'\"/").find(escaped) == std::string_view::npos) result += '\\';
      result += escaped;
    }
  }
  if (text_.empty()) fail("a string does not end");
  text_.remove_prefix(1);
  return result;
}

Json LiteralReader::scalar() {
  const std::string_view word = trim(text_.substr(0, text_.find_first_of(",}])")));
  if (word.empty()) fail("expected a value");
  Json result = parse_exact_json(std::string(word));
  if (word == "True") result = true;
  if (word == "False") result = false;
  if (word == "None") result = nullptr;
  if (result.is_discarded()) {
    if (delimiter_.empty()) fail("expected a value");
    result = std::string(word);
  }
  text_.remove_prefix(static_cast<size_t>(word.data() + word.size() - text_.data()));
  return result;
}

}  // namespace cohort
