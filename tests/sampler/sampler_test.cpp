// How completions end: stop tokens, stop strings, lengths; and what the sampler refuses. The decoder is a
// machine that follows a given chain of tokens, so that every completion is known.
#include "cohort/sampler/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

constexpr int64_t kVocabulary = 608;
constexpr int32_t kEndOfText = 600;  // special, in the tokenizer below
constexpr int64_t kContext = 64;

const Tokenizer& tokenizer() {
  static const Tokenizer result =
      Tokenizer::from_directory(std::filesystem::path(COHORT_SOURCE_DIR) / "tests/text/golden/gpt2");
  return result;
}

int32_t id_of(const std::string& token) {
  const auto id = tokenizer().token_id(token);
  COHORT_CHECK(id.has_value(), token);
  return *id;
}

std::vector<int32_t> ids_of(const std::vector<std::string>& tokens) {
  std::vector<int32_t> ids;
  for (const std::string& token : tokens) ids.push_back(id_of(token));
  return ids;
}

/// A decoder of one layer that adds nothing to its input, with one-hot embeddings and a head that points from
/// each token of `chain` to the next one, almost surely; the last one follows itself.
std::unique_ptr<Decoder> chain_decoder(const std::vector<int32_t>& chain) {
  Json raw =
      Json::parse(R"({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "intermediate_size": 16,
                             "num_attention_heads": 1, "head_dim": 16})");
  raw["vocab_size"] = kVocabulary;
  raw["hidden_size"] = kVocabulary;
  raw["max_position_embeddings"] = kContext;
  auto decoder = std::make_unique<Decoder>(parse_decoder_config(raw, "config.json"), at::kFloat, at::kCPU);
  const at::NoGradGuard no_grad;
  const NamedTensors& weights = decoder->named_weights();
  const std::map<std::string, at::Tensor> by_name(weights.begin(), weights.end());
  by_name.at("model.layers.0.self_attn.o_proj.weight").zero_();
  by_name.at("model.layers.0.mlp.down_proj.weight").zero_();
  by_name.at("model.embed_tokens.weight").copy_(at::eye(kVocabulary));
  const at::Tensor head = by_name.at("lm_head.weight");
  head.zero_();
  for (size_t i = 0; i < chain.size(); ++i) head[chain[std::min(i + 1, chain.size() - 1)]][chain[i]] = 1.0;
  decoder->refresh();
  return decoder;
}

Prompt prompt_of(std::vector<int32_t> token_ids) {
  Prompt prompt;
  prompt.id = "data.jsonl:4";
  prompt.token_ids = std::move(token_ids);
  return prompt;
}

/// The completion of the chain's first token.
Completion complete(const std::vector<int32_t>& chain, const SamplingParams& params,
                    const Tokenizer* with_tokenizer = &tokenizer()) {
  const auto decoder = chain_decoder(chain);
  Sampler sampler(*decoder, with_tokenizer, 0);
  return sampler.rollout({prompt_of({chain[0]})}, 1, params, {})[0].samples[0].completion;
}

SamplingParams stops(const std::vector<std::string>& stop_strings,
                     const std::vector<int32_t>& stop_ids = {kEndOfText}) {
  SamplingParams params;
  params.max_completion_length = 12;
  params.stop_strings = stop_strings;
  params.stop_token_ids = stop_ids;
  return params;
}

std::vector<int32_t> first_of(const std::vector<int32_t>& ids, size_t count) {
  return {ids.begin() + 1, ids.begin() + 1 + count};
}

class SamplerTest : public testing::Test {
  const ThreadCount one_thread_{1};
};

TEST_F(SamplerTest, EndsAtAStopToken) {
  std::vector<int32_t> chain = ids_of({"x", "a", "b", "c"});
  chain.push_back(kEndOfText);
  const Completion completion = complete(chain, stops({}));
  EXPECT_EQ(completion.token_ids, first_of(chain, 4));
  EXPECT_EQ(completion.finish_reason, FinishReason::kStop);
  EXPECT_EQ(completion.text, "abc");
  EXPECT_EQ(completion.sampler_logprobs.size(), 4u);
  EXPECT_EQ(completion.spans, (std::vector<TokenSpan>{{TokenOrigin::kSampled, 0, 0, 0, 4}}));
  EXPECT_NO_THROW(check_completion(completion));
  EXPECT_TRUE(completion.kept_ids.empty());
  for (const float logprob : completion.sampler_logprobs) EXPECT_NEAR(logprob, 0.0, 1e-6);
}

TEST_F(SamplerTest, EndsAtTheLengthOtherwise) {
  const std::vector<int32_t> chain = ids_of({"x", "a", "b"});
  Completion completion = complete(chain, stops({}));
  EXPECT_EQ(completion.token_ids.size(), 12u);
  EXPECT_EQ(completion.finish_reason, FinishReason::kLength);
  EXPECT_EQ(completion.text, "abbbbbbbbbbb");
  SamplingParams one = stops({});
  one.max_completion_length = 1;
  completion = complete(chain, one);
  EXPECT_EQ(completion.text, "a");
  EXPECT_EQ(completion.finish_reason, FinishReason::kLength);
  // A stop token at the very end of the length is a stop.
  one.stop_token_ids = ids_of({"a"});
  EXPECT_EQ(complete(chain, one).finish_reason, FinishReason::kStop);
}

TEST_F(SamplerTest, EndsAtTheContext) {
  const auto decoder = chain_decoder(ids_of({"x", "a"}));
  SamplingParams params;
  params.max_completion_length = 100000;
  const std::vector<Prompt> prompts{prompt_of(std::vector<int32_t>(61, id_of("x"))), prompt_of({id_of("x")})};
  for (const int64_t cache_tokens : {int64_t{0}, kContext + kPageRows}) {
    Sampler sampler(*decoder, &tokenizer(), cache_tokens);
    const auto groups = sampler.rollout(prompts, 2, params, {});
    EXPECT_EQ(groups[0].samples[1].completion.text, "aaa");
    EXPECT_EQ(groups[1].samples[1].completion.token_ids.size(), 63u);
    EXPECT_EQ(groups[1].samples[1].completion.finish_reason, FinishReason::kLength);
  }
}

TEST_F(SamplerTest, StopsNoEarlierThanItMay) {
  SamplingParams params = stops({});
  params.logit_bias = {{kEndOfText, 100.0}};  // the end comes as soon as it may
  params.min_tokens = 4;
  const std::vector<int32_t> letters = ids_of({"x", "a", "b", "c", "d", "e"});
  const Completion completion = complete(letters, params);
  ASSERT_EQ(completion.token_ids.size(), 5u);
  EXPECT_EQ(completion.finish_reason, FinishReason::kStop);
  EXPECT_EQ(completion.text, "abcd");
  ASSERT_EQ(completion.kept_ids.size(), 5u);
  EXPECT_EQ(completion.kept_ids[4], nullptr);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::ssize(*completion.kept_ids[i]), kVocabulary - 1);
    EXPECT_EQ(std::ranges::count(*completion.kept_ids[i], kEndOfText), 0);
  }
  // A stop string counts where it ends behind the least length, wherever it begins.
  params = stops({"bc"});
  params.min_tokens = 2;
  EXPECT_EQ(complete(letters, params).text, "abc");
  params.min_tokens = 3;
  EXPECT_EQ(complete(letters, params).token_ids.size(), 12u);
}

TEST_F(SamplerTest, StreamsTheTokensOfTheSameCompletion) {
  const auto decoder = chain_decoder(ids_of({"x", "a", "b", "c", "d"}));
  const Prompt prompt = prompt_of({id_of("x")});
  const SamplingParams params = stops({"dd"});
  const RolloutAddress address{.seed = 5, .first_prompt = 2};
  Sampler sampler(*decoder, &tokenizer(), 0);
  const Completion whole = sampler.rollout({prompt}, 1, params, address)[0].samples[0].completion;
  std::vector<int32_t> streamed;
  const Completion all = sampler.stream(prompt, params, address, [&](const SampledToken& token) {
    streamed.push_back(token.id);
    return true;
  });
  EXPECT_EQ(streamed, whole.token_ids);
  EXPECT_EQ(all.token_ids, whole.token_ids);
  EXPECT_EQ(all.sampler_logprobs, whole.sampler_logprobs);
  EXPECT_EQ(all.text, "abcdd");
  EXPECT_EQ(all.finish_reason, FinishReason::kStop);
  // The caller ends it behind the second token.
  const Completion cut = sampler.stream(prompt, params, address,
                                        [](const SampledToken& token) { return token.id != id_of("b"); });
  EXPECT_EQ(cut.text, "ab");
  EXPECT_EQ(cut.finish_reason, FinishReason::kLength);
}

TEST_F(SamplerTest, IgnoresStopTokensWhenToldTo) {
  std::vector<int32_t> chain = ids_of({"x", "a"});
  chain.push_back(kEndOfText);
  chain.push_back(id_of("b"));
  SamplingParams params = stops({});
  params.ignore_eos = true;
  Completion completion = complete(chain, params);
  EXPECT_EQ(completion.token_ids.size(), 12u);
  EXPECT_EQ(completion.finish_reason, FinishReason::kLength);
  EXPECT_EQ(completion.text, "abbbbbbbbbb");
  params.stop_strings = {"bb"};  // a text, not a token
  completion = complete(chain, params);
  EXPECT_EQ(completion.token_ids.size(), 4u);
  EXPECT_EQ(completion.finish_reason, FinishReason::kStop);
}

TEST_F(SamplerTest, TheTextShowsAStopStringUnlessToldOtherwise) {
  struct Case {
    std::vector<std::string> chain;
    std::vector<std::string> stop_strings;
    size_t num_tokens;
    const char* cut_text;
    const char* text;  // of all tokens
  };
  const Case cases[] = {
      {{"x", "a", "b", "c", "d"}, {"bc"}, 3, "a", "abc"},                // over two tokens
      {{"x", "a", "b", "c", "d"}, {"b"}, 2, "a", "ab"},                  // one token
      {{"x", "a", "b", "c", "d"}, {"a"}, 1, "", "a"},                    // at once
      {{"x", "a", "\u0120sing", "b"}, {"in"}, 2, "a s", "a sing"},       // inside a token
      {{"x", "a", "\u0120sing", "b"}, {"ng", "si"}, 2, "a ", "a sing"},  // two at once: the earlier cut
      {{"x", "a", "b", "\u0120sing"}, {"b s", "g"}, 3, "a", "ab sing"},
      {{"x", "a", "b", "c", "d"},
       {"xa", "da", "dd"},
       5,
       "abc",
       "abcdd"},  // the prompt is no part of the text
      {{"x", "a", "\u00c3", "\u00a9", "b"}, {"\u00e9"}, 3, "a", "a\u00e9"},  // a character in two tokens
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.stop_strings[0]);
    const std::vector<int32_t> chain = ids_of(c.chain);
    const Completion completion = complete(chain, stops(c.stop_strings));
    EXPECT_EQ(completion.token_ids.size(), c.num_tokens);
    EXPECT_EQ(completion.sampler_logprobs.size(), c.num_tokens);
    EXPECT_EQ(completion.finish_reason, FinishReason::kStop);
    EXPECT_EQ(completion.text, c.text);
    SamplingParams cut = stops(c.stop_strings);
    cut.include_stop_str_in_output = false;
    const Completion shorter = complete(chain, cut);
    EXPECT_EQ(shorter.token_ids, completion.token_ids);
    EXPECT_EQ(shorter.text, c.cut_text);
  }
}

TEST_F(SamplerTest, WithoutAStopStringTheTextIsWhole) {
  // A stop token with a text of its own, and one that leaves a character incomplete: the same text, whether
  // stop strings are looked for or not.
  const std::vector<int32_t> chain = ids_of({"x", "a", "b", "\u00c3", "c"});
  for (const std::vector<std::string>& none :
       {std::vector<std::string>{}, std::vector<std::string>{"never"}}) {
    EXPECT_EQ(complete(chain, stops(none, {id_of("b")})).text, "ab");
    EXPECT_EQ(complete(chain, stops(none, {id_of("\u00c3")})).text, "ab\ufffd");
  }
  // A stop token that completes a stop string is shown, or cut.
  SamplingParams both = stops({"b"}, {id_of("b")});
  EXPECT_EQ(complete(chain, both).text, "ab");
  both.include_stop_str_in_output = false;
  EXPECT_EQ(complete(chain, both).text, "a");
}

TEST_F(SamplerTest, SpecialTokensAreShownWhenAskedFor) {
  std::vector<int32_t> chain = ids_of({"x", "a", "b"});
  chain.push_back(kEndOfText);
  SamplingParams params = stops({"never"});
  EXPECT_EQ(complete(chain, params).text, "ab");
  params.skip_special_tokens = false;
  EXPECT_EQ(complete(chain, params).text, "ab<|endoftext|>");
  params.include_stop_str_in_output = false;  // the stop token, too
  EXPECT_EQ(complete(chain, params).text, "ab");
  // A special token may then be a stop string.
  params = stops({"b<|endof"}, {});
  params.skip_special_tokens = false;
  const Completion completion = complete(chain, params);
  EXPECT_EQ(completion.finish_reason, FinishReason::kStop);
  EXPECT_EQ(completion.token_ids.size(), 3u);
}

TEST_F(SamplerTest, WorksWithoutATokenizer) {
  const Completion completion = complete(ids_of({"x", "a"}), stops({}), nullptr);
  EXPECT_EQ(completion.token_ids.size(), 12u);
  EXPECT_EQ(completion.text, "");
}

TEST_F(SamplerTest, ReportsEveryCompletionAsItEnds) {
  std::vector<int32_t> chain = ids_of({"x", "a", "b", "c"});
  chain.push_back(kEndOfText);
  const auto decoder = chain_decoder(chain);
  Sampler sampler(*decoder, &tokenizer(), 0);
  std::vector<std::string> ended;
  const auto groups =
      sampler.rollout({prompt_of({chain[0]}), prompt_of({chain[1], chain[2]})}, 2, stops({}), {}, 5,
                      [&](int64_t prompt, int64_t sample, const Completion& completion) {
                        ended.push_back(str(prompt, ".", sample, " ", completion.text));
                      });
  EXPECT_EQ(ended, (std::vector<std::string>{"1.0 c", "1.1 c", "0.0 abc", "0.1 abc"}));
  EXPECT_EQ(groups[0].samples[0].completion.policy_version(), 5);
  EXPECT_EQ(groups[1].prompt.token_ids.size(), 2u);
  // Prompts of one and two rows; of 4 and 2 tokens each completion forwards 3 and 1.
  EXPECT_EQ(sampler.stats().prompt_rows, 3);
  EXPECT_EQ(sampler.stats().completion_rows, 8);
  EXPECT_EQ(sampler.stats().num_passes, 4);
  EXPECT_EQ(sampler.stats().num_preemptions, 0);
  EXPECT_TRUE(sampler.rollout({}, 2, stops({}), {}).empty());
}

/// Memory that nobody wrote holds NaN, while it lives.
class FilledMemory {
 public:
  FilledMemory() { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true); }
  ~FilledMemory() { at::globalContext().setDeterministicAlgorithms(false, false); }
};

TEST_F(SamplerTest, ReadsNoRowOfTheCacheThatWasNotWritten) {
  SamplingParams params;
  params.max_completion_length = 9;
  for (const char* architecture : kArchitectures) {
    for (const at::ScalarType compute : {at::kFloat, at::kBFloat16, at::kDouble}) {
      const auto decoder = tiny_decoder(tiny_config(architecture), compute);
      const auto draw = [&] {
        Sampler sampler(*decoder, nullptr, 0);
        const auto groups = sampler.rollout({prompt_of({5, 299, 0}), prompt_of({17})}, 3, params, {});
        return std::pair(groups[0].samples[2].completion.sampler_logprobs,
                         groups[1].samples[0].completion.token_ids);
      };
      const auto expected = draw();
      const FilledMemory filled;
      ASSERT_TRUE(at::empty({64}).isnan().all().item<bool>());
      EXPECT_EQ(draw(), expected) << architecture << " " << compute;
    }
  }
}

TEST_F(SamplerTest, RefusesWhatCannotBeDone) {
  const auto decoder = chain_decoder({1, 2});
  const auto message = [&](const std::vector<int32_t>& prompt, const SamplingParams& params,
                           int64_t cache_tokens, const Tokenizer* with_tokenizer) {
    Sampler sampler(*decoder, with_tokenizer, cache_tokens);
    return message_of<UserError>([&] { sampler.rollout({prompt_of(prompt)}, 1, params, {}); });
  };
  EXPECT_EQ(message({1}, stops({"a"}), 0, nullptr),
            "stop_strings need a tokenizer.json in the model directory");
  EXPECT_EQ(message({1}, stops({""}), 0, &tokenizer()),
            "stop_strings: an empty text would end every completion; remove it");
  EXPECT_EQ(message({}, stops({}), 0, &tokenizer()), "data.jsonl:4: the prompt has no tokens");
  EXPECT_EQ(message({608}, stops({}), 0, &tokenizer()),
            "data.jsonl:4: id 608 lies outside the vocabulary of 608");
  EXPECT_EQ(message({-1}, stops({}), 0, &tokenizer()),
            "data.jsonl:4: id -1 lies outside the vocabulary of 608");
  EXPECT_NE(message(std::vector<int32_t>(64, 1), stops({}), 0, &tokenizer())
                .find("leaves no room for a completion"),
            std::string::npos);
  EXPECT_NE(message({1}, stops({}), 8, &tokenizer()).find("cache_tokens: 0 tokens of cache"),
            std::string::npos);
  EXPECT_NE(message({1}, stops({}), 31, &tokenizer()).find("give at least 32"), std::string::npos);
}

}  // namespace
}  // namespace cohort
