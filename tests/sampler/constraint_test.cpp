#include "cohort/sampler/constraint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/text/grammar/json_schema.h"
#include "cohort/text/grammar/regex.h"
#include "tests/sampler/engine_case.h"
#include "tests/text/golden.h"

namespace cohort {
namespace {

Grammar of_regex(std::string_view pattern) {
  Grammar grammar;
  add_regex(grammar, grammar.begin(0), pattern, grammar.end(0));
  return grammar;
}

bool accepts(const Grammar& grammar, std::string_view text) {
  Recognizer recognizer(grammar, std::bitset<256>().set());
  Recognizer::Position position = recognizer.begin();
  for (const char c : text) {
    position = recognizer.next(position, static_cast<unsigned char>(c));
    if (position == Recognizer::kDead) return false;
  }
  return recognizer.may_end(position);
}

constexpr const char* kSchema =
    R"({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        "s": {"type": "string", "maxLength": 6}, "b": {"type": "boolean"}}, "required": ["a", "s"]})";

class ConstraintOfShape : public testing::TestWithParam<std::string> {
 protected:
  const Tokenizer tokenizer_ = Tokenizer::from_directory(golden_path("shapes/" + GetParam()));
  const std::shared_ptr<const ConstraintVocabulary> vocabulary_ =
      std::make_shared<const ConstraintVocabulary>(tokenizer_);
  const int32_t stop_ = static_cast<int32_t>(tokenizer_.vocab_size());  // an id without a text
};

INSTANTIATE_TEST_SUITE_P(Shapes, ConstraintOfShape,
                         testing::Values("deepseek", "gemma", "gpt2", "llama2", "llama3", "mistral", "o200k",
                                         "qwen2", "unsplit"),
                         [](const auto& info) { return info.param; });

/// Whatever is drawn from the allowed ids, the text as the tokenizer decodes it is one of the language.
TEST_P(ConstraintOfShape, TextsAreOfTheLanguage) {
  Grammar schema;
  const Json document = Json::parse(kSchema);
  JsonSchemaGrammar(schema, document).add(schema.begin(0), schema.end(0));
  const std::vector<Grammar> grammars = {of_regex("[a-f ]{1,20}(yes|no)?[0-9]+"), of_regex("[^x]{0,9}z"),
                                         schema};
  CounterRng random(1);
  for (const Grammar& grammar : grammars) {
    Constraint constraint(grammar, vocabulary_, {stop_});
    for (int trial = 0; trial < 30; ++trial) {
      Constraint::State state;
      std::vector<int32_t> ids;
      while (true) {
        const KeptIds allowed = constraint.allowed(state, true);
        ASSERT_FALSE(allowed->empty());
        ASSERT_TRUE(std::ranges::is_sorted(*allowed));
        const bool may_stop = allowed->back() == stop_;
        const int32_t id = may_stop && ids.size() > 30 ? stop_ : (*allowed)[random.below(allowed->size())];
        if (id == stop_) break;
        ids.push_back(id);
        constraint.advance(state, id);
      }
      const std::string text = tokenizer_.decode(ids);
      EXPECT_TRUE(accepts(grammar, text)) << testing::PrintToString(text);
    }
  }
}

/// The walk over tokens in their order finds what reading each token by itself finds.
TEST_P(ConstraintOfShape, AllowsWhateverGoesOn) {
  const Grammar grammar = of_regex("( ?[a-e]{1,3}[0-9]?)+");
  Constraint constraint(grammar, vocabulary_, {stop_});
  Constraint::State state;
  for (int length = 0; length < 3; ++length) {
    Recognizer recognizer(grammar, vocabulary_->later.bytes());
    const KeptIds allowed = constraint.allowed(state, false);
    const TokenSymbols& symbols = vocabulary_->of(length == 0);
    for (int32_t id = 0; id < symbols.vocab_size(); ++id) {
      auto position = length == 0 ? recognizer.begin() : recognizer.find(*state.places);
      for (const char c : symbols.text(id)) {
        if (position != Recognizer::kDead)
          position = recognizer.next(position, static_cast<unsigned char>(c));
      }
      const bool goes_on = position != Recognizer::kDead && !symbols.text(id).empty();
      EXPECT_EQ(std::ranges::binary_search(*allowed, id), goes_on) << id;
    }
    constraint.advance(state, allowed->at(allowed->size() / 2));
  }
}

class ConstrainedEngineTest : public testing::Test {
 protected:
  Request request(std::shared_ptr<Constraint> constraint, std::vector<int32_t> stops = {kStop}) const {
    SamplingParams params;
    params.max_completion_length = 100;
    params.stop_token_ids = std::move(stops);
    params.constraint = std::move(constraint);
    return {.token_ids = {5, 6, 7}, .params = std::move(params), .address = {.seed = 3}};
  }

  std::shared_ptr<Constraint> constraint(const char* pattern, std::vector<int32_t> stops = {kStop}) const {
    return std::make_shared<Constraint>(
        of_regex(pattern), std::make_shared<const ConstraintVocabulary>(tokenizer_), std::move(stops));
  }

  static Json config() {
    Json config = tiny_config("Qwen3ForCausalLM");
    config["vocab_size"] = 640;
    return config;
  }

  static constexpr int32_t kStop = 600;  // special
  const Tokenizer tokenizer_ = Tokenizer::from_directory(golden_path("shapes/qwen2"));
  const std::unique_ptr<Decoder> decoder_ = tiny_decoder(config(), at::kFloat);
  const ThreadCount one_thread_{1};
};

TEST_F(ConstrainedEngineTest, LogprobsAreOverTheAllowedIds) {
  Engine engine(*decoder_, &tokenizer_, kPages);
  Results results;
  Request wanted = request(constraint("[ab]{2}"));
  wanted.on_end = results.collect();
  const RequestId id = engine.add(wanted);
  run(engine);
  const Completion& completion = results.of(id);
  EXPECT_EQ(completion.finish_reason, FinishReason::kStop);
  EXPECT_EQ(completion.token_ids.back(), kStop);
  EXPECT_EQ(completion.sampler_logprobs.back(), 0.0f);  // nothing else was left
  ASSERT_EQ(completion.kept_ids.size(), completion.token_ids.size());
  std::vector<int64_t> tokens = {5, 6, 7};
  for (size_t t = 0; t < completion.token_ids.size(); ++t) {
    const at::Tensor logits = all_logits(*decoder_, tokens)[-1].to(at::kDouble);
    const std::vector<int32_t>& kept = *completion.kept_ids[t];
    const std::vector<int64_t> wide(kept.begin(), kept.end());
    const double sum = logits.index_select(0, at::tensor(wide, at::kLong)).logsumexp(0).item<double>();
    EXPECT_NEAR(completion.sampler_logprobs[t], logits[completion.token_ids[t]].item<double>() - sum, 1e-5);
    tokens.push_back(completion.token_ids[t]);
  }
}

TEST_F(ConstrainedEngineTest, EndsWithItsTextIfThereIsNoStopToken) {
  Engine engine(*decoder_, &tokenizer_, kPages);
  Results results;
  Request wanted = request(constraint("(yes|no)\\.", {}), {});
  wanted.params.include_stop_str_in_output = false;
  wanted.keeps_sets = false;
  wanted.on_end = results.collect();
  const RequestId id = engine.add(wanted);
  run(engine);
  EXPECT_EQ(results.of(id).finish_reason, FinishReason::kStop);
  EXPECT_TRUE(results.of(id).text == "yes." || results.of(id).text == "no.") << results.of(id).text;
  EXPECT_TRUE(results.of(id).kept_ids.empty());
}

/// Stop tokens wait for min_tokens, unless the text is over before.
TEST_F(ConstrainedEngineTest, StopsAfterTheLeastTokensIfTheTextMayGoOn) {
  for (const auto& [pattern, least] : {std::pair("a*", size_t{9}), std::pair("a{4}", size_t{1})}) {
    Engine engine(*decoder_, &tokenizer_, kPages);
    Results results;
    Request wanted = request(constraint(pattern));
    wanted.params.min_tokens = 8;
    wanted.on_end = results.collect();
    const RequestId id = engine.add(wanted);
    run(engine);
    EXPECT_EQ(results.of(id).finish_reason, FinishReason::kStop);
    EXPECT_GE(results.of(id).token_ids.size(), least) << pattern;
    EXPECT_LE(results.of(id).token_ids.size(), least == 1 ? 5u : 100u) << pattern;
  }
}

/// Each turn is a text of its own, and a fork goes on in the middle of one.
TEST_F(ConstrainedEngineTest, HoldsForTurnsAndForks) {
  Engine engine(*decoder_, &tokenizer_, kPages);
  Results results;
  Request wanted = request(constraint("<[0-9]{9}>"));
  wanted.is_held = true;
  wanted.on_end = results.collect();
  const RequestId id = engine.add(wanted);
  run(engine);
  const auto length = std::ssize(results.of(id).token_ids);
  engine.extend(id, {5, 6});
  run(engine);
  const std::vector<int32_t>& all = results.of(id).token_ids;
  const Grammar grammar = of_regex("<[0-9]{9}>");
  const auto turn = [&](const std::vector<int32_t>& ids, int64_t begin, int64_t end) {
    return tokenizer_.decode(std::span(ids).subspan(begin, end - begin));
  };
  EXPECT_TRUE(accepts(grammar, turn(all, 0, length)));
  EXPECT_TRUE(accepts(grammar, turn(all, length + 2, std::ssize(all))));
  const RequestId fork = engine.fork(id, 3, {.seed = 11});
  run(engine);
  const std::vector<int32_t>& forked = results.of(fork).token_ids;
  EXPECT_TRUE(accepts(grammar, turn(forked, 0, std::ssize(forked))));
  EXPECT_NE(forked, std::vector<int32_t>(all.begin(), all.begin() + length));
}

}  // namespace
}  // namespace cohort
