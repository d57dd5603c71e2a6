// A tokenizer of single bytes with the tokens of ChatML, and a template that knows tools.
#pragma once

#include <gtest/gtest.h>

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "cohort/env/turn_format.h"
#include "cohort/tasks/text_format.h"
#include "cohort/text/byte_level.h"
#include "cohort/text/tokenizer.h"
#include "tests/core/test_files.h"

namespace cohort {

constexpr int32_t kStart = 256, kEnd = 257;  // <|im_start|> and <|im_end|>

inline const char* const kChatMl =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}"
    "<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/// A model directory without weights.
class ChatCase {
 public:
  explicit ChatCase(const std::string& chat_template = kChatMl) {
    Json vocabulary = Json::object();
    for (int32_t byte = 0; byte < 256; ++byte) vocabulary[byte_characters()[byte]] = byte;
    const auto special = [](int32_t id, const char* text) {
      return Json{{"id", id},        {"content", text}, {"special", true},    {"single_word", false},
                  {"lstrip", false}, {"rstrip", false}, {"normalized", false}};
    };
    const Json tokenizer = {
        {"added_tokens", {special(kStart, "<|im_start|>"), special(kEnd, "<|im_end|>")}},
        {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
        {"decoder", {{"type", "ByteLevel"}}},
        {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}};
    write_text(directory_.path() / "tokenizer.json", tokenizer.dump());
    write_text(directory_.path() / "tokenizer_config.json",
               Json{{"eos_token", "<|im_end|>"}, {"chat_template", chat_template}}.dump());
    tokenizer_.emplace(Tokenizer::from_directory(directory_.path()));
    text_ = text_format(*tokenizer_, directory_.path(), std::tm{});
  }

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const TextFormat& text() const { return text_; }

  TurnFormat turns(std::vector<int32_t> stop_ids = {kEnd}, Json tools = nullptr) const {
    return {text_, *tokenizer_, find_tool_call_format("hermes"), std::move(tools), std::move(stop_ids)};
  }

  std::string decoded(const std::vector<int32_t>& ids) const {
    return tokenizer_->decode(ids, {.skip_special_tokens = false});
  }

 private:
  TemporaryDirectory directory_;
  std::optional<Tokenizer> tokenizer_;
  TextFormat text_;
};

}  // namespace cohort
