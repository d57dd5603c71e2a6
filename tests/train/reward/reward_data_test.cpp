// Rows of preferences and of labelled steps.
#include "cohort/train/reward/reward_data.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/core/json.h"
#include "cohort/tasks/row_cursor.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

using Ids = std::vector<int32_t>;

class RewardDataTest : public testing::Test {
 protected:
  RewardDataTest() {
    format_.sft = {text_format(tokenizer_, folder_.path(), {}), 0};
    format_.tokenizer = &tokenizer_;
    format_.num_labels = 2;
    write_text(folder_.path() / "chat_template.jinja",
               "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
               "{% if add_generation_prompt %}assistant: {% endif %}");
    write_text(folder_.path() / "tokenizer_config.json", "{}");
  }

  RewardExample read(const char* json) const {
    return to_reward_example({Json::parse(json), "rows.jsonl:3", "rows.jsonl:3"}, format_);
  }
  std::string refusal(const char* json) const {
    return message_of<FormatError>([&] { read(json); });
  }
  Ids encode(const std::string& text, bool ends = false) const {
    Ids ids = tokenizer_.encode(text);
    if (ends) ids.push_back(0);
    return ids;
  }

  TemporaryDirectory folder_;
  const Tokenizer tokenizer_ = Tokenizer::from_directory(COHORT_SOURCE_DIR "/recipes/demo");
  RewardFormat format_;
};

TEST_F(RewardDataTest, PairsEndAsCompletionsDo) {
  const RewardExample pair =
      read(R"({"prompt": "1 + 1 =", "chosen": " 2", "rejected": " 3<|endoftext|>", "margin": 0.5})");
  EXPECT_EQ(pair.prompt_ids, encode("1 + 1 ="));
  EXPECT_EQ(pair.completions, (std::vector<Ids>{encode(" 2", true), encode(" 3", true)}));
  EXPECT_EQ(pair.margin, 0.5);
  EXPECT_EQ(pair.num_rows(), static_cast<int64_t>(encode("1 + 1 = 2").size() + encode(" 3").size() + 2));
}

TEST_F(RewardDataTest, ConversationsAreRendered) {
  const RewardExample pair = read(R"({"prompt": [{"role": "user", "content": "1"}],
      "chosen": [{"role": "assistant", "content": "2"}], "rejected": [{"role": "assistant", "content": "3"}]})");
  EXPECT_EQ(pair.prompt_ids, encode("user: 1\nassistant: "));
  EXPECT_EQ(pair.completions, (std::vector<Ids>{encode("2\n"), encode("3\n")}));
}

TEST_F(RewardDataTest, WithoutAPromptBothHoldIt) {
  const RewardExample texts = read(R"({"chosen": "1 2", "rejected": "1 3"})");
  EXPECT_EQ(texts.prompt_ids, encode("1"));
  EXPECT_EQ(texts.completions, (std::vector<Ids>{encode(" 2", true), encode(" 3", true)}));
  const RewardExample chats = read(R"({
      "chosen": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}],
      "rejected": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "3"}]})");
  EXPECT_EQ(chats.prompt_ids, encode("user: 1\nassistant: "));
}

TEST_F(RewardDataTest, StepsAreLabelledWhereTheyEnd) {
  format_.head.type = "process";
  const RewardExample steps =
      read(R"({"prompt": "p", "completions": ["1 + 1 = 2", "2 * 3 = 5"], "labels": [true, false]})");
  ASSERT_EQ(steps.completions.size(), 1u);
  EXPECT_EQ(steps.completions[0], encode("1 + 1 = 2\n2 * 3 = 5\n"));
  EXPECT_EQ(steps.step_ends, (std::vector<int64_t>{static_cast<int64_t>(encode("1 + 1 = 2\n").size()),
                                                   static_cast<int64_t>(steps.completions[0].size())}));
  EXPECT_EQ(steps.step_labels, (std::vector<int64_t>{1, 0}));
}

TEST_F(RewardDataTest, RowsThatDoNotFitAreNamed) {
  const auto contains = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find("rows.jsonl:3"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  contains(refusal(R"({"prompt": "a", "chosen": "b"})"), "\"rejected\" is missing");
  contains(refusal(R"({"prompt": "a", "chosen": "b", "rejected": "b"})"), "are the same");
  contains(refusal(R"({"prompt": "a", "chosen": "b", "rejected": "c", "margin": "much"})"), "margin");
  format_.head.type = "process";
  contains(refusal(R"({"prompt": "a", "completions": "b", "labels": [1]})"), "list of steps");
  contains(refusal(R"({"prompt": "a", "completions": ["b"], "labels": [1, 0]})"), "1 steps");
  contains(refusal(R"({"prompt": "a", "completions": ["b\nc"], "labels": [1]})"), "separator \"\\n\"");
  contains(refusal(R"({"prompt": "a", "completions": ["b", " "], "labels": [1, 1]})"), "blank");
  contains(refusal(R"({"prompt": "a", "completions": ["b"], "labels": [2]})"), "label 2");
  contains(refusal(R"({"prompt": "a", "completions": ["b"], "labels": ["good"]})"), "label \"good\"");
}

TEST_F(RewardDataTest, ReplayTakesItsShareOfTheDraws) {
  const auto write = [&](const char* name, char letter, int count) {
    std::string lines;
    for (int i = 0; i < count; ++i)
      lines += str("{\"prompt\": \"", letter, " ", i, "\", \"chosen\": \"y\", \"rejected\": \"n\"}\n");
    write_text(folder_.path() / name, lines);
    return (folder_.path() / name).string();
  };
  RewardDataConfig data;
  data.path = {write("new.jsonl", 'a', 30)};
  data.replay_path = {write("old.jsonl", 'b', 500)};
  Json config = tiny_config("LlamaForCausalLM");
  config["vocab_size"] = 420;
  const DecoderConfig model = parse_decoder_config(config, "config.json");
  const Dataset dataset = open_reward_examples(data, DataPart::kTrain, format_, model);
  RowCursor rows(dataset, 1, true);
  int num_old = 0;
  for (const Row& row : rows.next(100)) num_old += row.columns.at("prompt").get<std::string>()[0] == 'b';
  EXPECT_EQ(num_old, 10);
}

}  // namespace
}  // namespace cohort
