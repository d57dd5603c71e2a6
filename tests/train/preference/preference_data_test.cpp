// Rows of preferences as `cohort dpo` reads them; what reward models share with it is in
// reward_data_test.cpp.
#include "cohort/train/preference/preference_data.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

using Ids = std::vector<int32_t>;

class PreferenceDataTest : public testing::Test {
 protected:
  PreferenceDataTest() {
    write_text(folder_.path() / "chat_template.jinja",
               "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
               "{% if add_generation_prompt %}assistant: {% endif %}");
    write_text(folder_.path() / "tokenizer_config.json", "{}");
  }

  PreferenceExample read(const char* json) const {
    return to_preference_example({Json::parse(json), "rows.jsonl:3", "rows.jsonl:3"}, format_);
  }
  Ids encode(const std::string& text) const { return tokenizer_.encode(text); }

  /// What a run says of a file with this line.
  std::string refusal(const std::string& line) const {
    write_text(folder_.path() / "rows.jsonl", line + "\n");
    PreferenceDataConfig data;
    data.path = {(folder_.path() / "rows.jsonl").string()};
    Json config = tiny_config("LlamaForCausalLM");
    config["vocab_size"] = 420;
    const DecoderConfig model = parse_decoder_config(config, "config.json");
    return message_of<FormatError>([&] { open_preferences(data, DataPart::kTrain, format_, model); });
  }

  TemporaryDirectory folder_;
  const Tokenizer tokenizer_ = Tokenizer::from_directory(COHORT_SOURCE_DIR "/recipes/demo");
  const SftFormat format_{text_format(tokenizer_, folder_.path(), {}), 0};
};

TEST_F(PreferenceDataTest, OfAConversationOnlyTheLastMessageIsCompared) {
  const PreferenceExample pair = read(R"({
      "chosen": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "the sum"}],
      "rejected": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "the 5"}]})");
  EXPECT_EQ(pair.prompt_ids, encode("user: 1\nassistant: "));
  EXPECT_EQ(pair.completions[0].token_ids, encode("the sum\n"));
  EXPECT_EQ(pair.completions[1].token_ids, encode("the 5\n"));
}

TEST_F(PreferenceDataTest, ConversationsThatPartEarlierShareWhatComesBefore) {
  const PreferenceExample pair = read(R"({
      "chosen": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}],
      "rejected": [{"role": "user", "content": "7"}, {"role": "assistant", "content": "2"}]})");
  Ids chosen = encode(" 1\nassistant: "), rejected = encode(" 7\nassistant: ");
  for (Ids* ids : {&chosen, &rejected}) {
    for (const int32_t id : encode("2\n")) ids->push_back(id);
  }
  EXPECT_EQ(pair.prompt_ids, encode("user:"));
  EXPECT_EQ(pair.completions[0].token_ids, chosen);
  EXPECT_EQ(pair.completions[1].token_ids, rejected);
}

TEST_F(PreferenceDataTest, RowsThatCannotBeComparedAreNamed) {
  const auto contains = [&](const char* line, const char* part) {
    const std::string message = refusal(line);
    EXPECT_NE(message.find("rows.jsonl:1"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  contains(R"({"prompt": "a", "rejected": "b"})", "\"chosen\" is missing");
  contains(R"({"prompt": "a", "chosen": 1, "rejected": "b"})", "\"chosen\" must be a string");
  contains(R"({"prompt": "a", "chosen": "b", "rejected": "b"})", "are the same");
  contains(R"({"chosen": "b", "rejected": [{"role": "assistant", "content": "c"}]})", "must both be texts");
  contains(R"({"prompt": "", "chosen": "b", "rejected": "c"})", "prompt has no tokens");
  contains(R"({"chosen": "yes", "rejected": "no"})", "prompt has no tokens");
}

}  // namespace
}  // namespace cohort
