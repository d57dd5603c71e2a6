// Heads: what a sequence is given does not depend on what it is packed with, and gradients are those of
// separate sequences.
#include "cohort/models/classifier.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/models/pretrained.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

using Ids = std::vector<int32_t>;

Json head_config(const char* family, HeadKind head, int64_t num_labels) {
  return config_with_head(tiny_config(str(family, "ForCausalLM")), "config.json", head, num_labels);
}

Ids some_ids(int64_t count, int64_t seed) {
  Ids ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((seed * 131 + i * 17) % 300));
  return ids;
}

/// A prompt with completions of lengths around the edges of tiles, none included.
struct Group {
  Ids prompt = some_ids(70, 3);
  std::vector<Ids> completions{some_ids(1, 5), some_ids(63, 7), {}, some_ids(130, 11)};
};

at::Tensor last_scores(const Decoder& decoder, const Ids& prefix, const std::vector<Ids>& sequences) {
  PackedSequences packed;
  packed.begin_group(prefix);
  std::vector<int64_t> rows;
  for (const Ids& ids : sequences) {
    const int64_t sequence = packed.add(ids);
    rows.push_back(packed.row(sequence, packed.length(sequence) - 1));
  }
  return packed.scores(decoder, rows);
}

Ids joined(Ids prompt, const Ids& completion) {
  prompt.insert(prompt.end(), completion.begin(), completion.end());
  return prompt;
}

TEST(PackedSequences, ASharedPromptChangesNoBit) {
  const ThreadCount one_thread{1};
  const at::NoGradGuard no_grad;
  for (const char* family : {"Qwen3", "Gemma2", "Mistral", "Qwen3Moe"}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      for (const int64_t labels : {1, 3}) {
        const auto decoder =
            tiny_decoder(head_config(family, HeadKind::kSequenceClassification, labels), dtype);
        const Group group;
        const at::Tensor shared = last_scores(*decoder, group.prompt, group.completions);
        for (size_t i = 0; i < group.completions.size(); ++i) {
          const at::Tensor alone = last_scores(*decoder, {}, {joined(group.prompt, group.completions[i])});
          EXPECT_TRUE(at::equal(shared[static_cast<int64_t>(i)], alone[0])) << family << " " << dtype << i;
        }
      }
    }
  }
}

TEST(PackedSequences, GradientsAreThoseOfSeparateSequences) {
  const ThreadCount one_thread{1};
  const Json config = head_config("Qwen3", HeadKind::kTokenClassification, 2);
  const auto shared = tiny_decoder(config, at::kDouble), separate = tiny_decoder(config, at::kDouble);
  const Group group;
  PackedSequences packed;
  packed.begin_group(group.prompt);
  std::vector<int64_t> rows;
  for (const Ids& completion : group.completions) {
    const int64_t sequence = packed.add(completion);
    // The prompt's own rows are scored, too: their gradient comes from all of its sequences.
    for (const int64_t position : {int64_t{4}, packed.length(sequence) - 1})
      rows.push_back(packed.row(sequence, position));
  }
  packed.scores(*shared, rows).square().sum().backward();
  for (const Ids& completion : group.completions) {
    PackedSequences one;
    one.begin_group({});
    const int64_t sequence = one.add(joined(group.prompt, completion));
    one.scores(*separate, {one.row(sequence, 4), one.row(sequence, one.length(sequence) - 1)})
        .square()
        .sum()
        .backward();
  }
  for (size_t i = 0; i < shared->parameters().size(); ++i) {
    const at::Tensor &a = shared->parameters()[i].grad(), &b = separate->parameters()[i].grad();
    ASSERT_TRUE(a.defined() && b.defined());
    EXPECT_TRUE(at::allclose(a, b, 1e-5, 1e-7)) << i << " " << (a - b).abs().max();
  }
}

TEST(PackedSequences, PoolsWhereTransformersDoes) {
  Json config = head_config("Llama", HeadKind::kSequenceClassification, 1);
  config["pad_token_id"] = 9;
  const DecoderConfig model = parse_decoder_config(config, "config.json");
  PackedSequences packed;
  packed.begin_group(Ids{1, 9});
  EXPECT_EQ(packed.pooled_row(packed.add(Ids{9, 5, 9, 9}), model), 3);
  EXPECT_EQ(packed.pooled_row(packed.add(Ids{9}), model), 0);  // into the prompt
  packed.begin_group(Ids{9});
  EXPECT_EQ(packed.pooled_row(packed.add(Ids{9}), model), 7);  // nothing but padding: the first
  packed.begin_group({});
  const int64_t empty = packed.add(Ids{});
  EXPECT_THROW(packed.pooled_row(empty, model), InternalError);
}

TEST(NewHead, KeepsTheBodyAndBecomesAModelOfItsOwn) {
  const ThreadCount one_thread{1};
  TemporaryDirectory folder;
  for (const char* family : {"Qwen2", "Qwen3"}) {  // tied, and with an own head
    const auto base = tiny_decoder(tiny_config(str(family, "ForCausalLM")), at::kFloat);
    const std::filesystem::path source = folder.path() / family,
                                target = folder.path() / str(family, "-head");
    std::filesystem::create_directories(source);
    write_text(source / "tokenizer.json", "{}");
    save_pretrained(*base, source, folder.path() / str(family, "-base"));
    const auto load = [&](uint64_t seed) {
      return load_with_head(folder.path() / str(family, "-base"), at::kFloat, at::kCPU,
                            HeadKind::kTokenClassification, 2, seed);
    };
    const auto model = load(5), again = load(5), other = load(6);
    EXPECT_EQ(model->config().architecture, str(family, "ForTokenClassification"));
    for (size_t i = 0; i < model->named_weights().size(); ++i) {
      const auto& [name, weight] = model->named_weights()[i];
      EXPECT_TRUE(at::equal(weight, again->named_weights()[i].second)) << name;
      if (name == "score.weight") {
        EXPECT_FALSE(at::equal(weight, other->named_weights()[i].second));
        EXPECT_GT(weight.abs().min().item<float>(), 0.0f);
      } else if (!name.starts_with("score.")) {
        EXPECT_EQ(name, base->named_weights()[i].first);
        EXPECT_TRUE(at::equal(weight, base->named_weights()[i].second)) << name;
      }
    }
    save_pretrained(*model, source, target);
    const auto loaded = load_with_head(target, at::kFloat, at::kCPU, HeadKind::kTokenClassification, 2, 7);
    EXPECT_TRUE(at::equal(token_scores(*loaded, {some_ids(9, 1)}), token_scores(*model, {some_ids(9, 1)})));
    EXPECT_THROW(load_with_head(target, at::kFloat, at::kCPU, HeadKind::kSequenceClassification, 1, 7),
                 FormatError);
  }
}

TEST(NewHead, NamesLabelsAndRefusesWhatTransformersLacks) {
  const Json config = head_config("Qwen3", HeadKind::kSequenceClassification, 2);
  EXPECT_EQ(config.at("architectures"), Json({"Qwen3ForSequenceClassification"}));
  EXPECT_EQ(config.at("id2label"), Json::parse(R"({"0": "LABEL_0", "1": "LABEL_1"})"));
  const DecoderConfig model = parse_decoder_config(config, "config.json");
  EXPECT_EQ(find_label(model, "LABEL_1"), 1);
  EXPECT_EQ(find_label(model, "0"), 0);
  EXPECT_EQ(find_label(model, "2"), std::nullopt);
  const std::string message =
      message_of<FormatError>([] { head_config("Gemma3", HeadKind::kTokenClassification, 2); });
  EXPECT_NE(message.find("Gemma3TextForTokenClassification"), std::string::npos) << message;
}

}  // namespace
}  // namespace cohort
