#include "cohort/train/run/memory_plan.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/core/memory.h"
#include "cohort/ops/linear.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

int64_t part(const MemoryPlan& plan, const std::string& name) {
  for (const auto* parts : {&plan.always, &plan.sampling, &plan.updating}) {
    for (const auto& [key, bytes] : *parts) {
      if (key == name) return bytes;
    }
  }
  ADD_FAILURE() << "no part named " << name;
  return -1;
}

const StepShape kStep{
    .longest_sequence = 30, .rows = 100, .tokens_per_microbatch = 40, .cache_pages = 7, .num_sequences = 12};

TEST(MemoryPlan, CountsWhatIsHeldPerParameter) {
  const auto decoder = tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kBFloat16);
  const int64_t parameters = decoder->num_parameters();
  StepShape step = kStep;
  MemoryPlan plan = plan_memory(*decoder, step);
  EXPECT_EQ(part(plan, "weights"), parameters * (4 + 2));
  EXPECT_EQ(part(plan, "gradients"), parameters * 4);
  EXPECT_EQ(part(plan, "optimizer"), parameters * 8);
  EXPECT_EQ(part(plan, "reference"), 0);
  step.has_reference = true;
  EXPECT_EQ(part(plan_memory(*decoder, step), "reference"), parameters * (4 + 2));
}

TEST(MemoryPlan, ProcessesShareOutMomentsAndTheMastersOfProjections) {
  const auto decoder = tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kBFloat16);
  int64_t projections = 0;
  for (const auto& [name, weight] : decoder->named_weights())
    projections += name.ends_with("_proj.weight") ? weight.numel() : 0;
  if (!decoder->config().tie_word_embeddings)
    projections += decoder->config().vocab_size * decoder->config().hidden_size;
  const int64_t parameters = decoder->num_parameters();
  StepShape step = kStep;
  step.num_processes = 4;
  step.has_reference = true;
  EXPECT_EQ(part(plan_memory(*decoder, step), "weights"), parameters * (4 + 2) - projections / 4 * 3 * 4);
  EXPECT_EQ(part(plan_memory(*decoder, step), "optimizer"), parameters * 2);
  EXPECT_EQ(part(plan_memory(*decoder, step), "reference"), parameters * (4 + 2));
  step.has_whole_masters = true;
  EXPECT_EQ(part(plan_memory(*decoder, step), "weights"), parameters * (4 + 2));
  EXPECT_EQ(part(plan_memory(*decoder, step), "optimizer"), parameters * 2);
}

TEST(MemoryPlan, WhatCanNotFitIsRefused) {
  const int64_t machine = physical_memory_bytes();
  MemoryPlan plan;
  plan.always = {{"weights", machine * 3 / 4}, {"optimizer", machine / 16}};
  plan.updating = {{"activations", machine}};  // the longest completions may never come
  EXPECT_NO_THROW(check_memory(plan));
  try {
    check_memory(plan, 2);
    FAIL();
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("the run takes at least ")) << text;
    EXPECT_NE(text.find(" in each of 2 processes and the machine has "), std::string::npos) << text;
  }
}

TEST(MemoryPlan, CountsFrozenWeightsOnce) {
  const ThreadCount one_thread(1);  // threads with micro-batches of their own hold a gradient each
  for (const char* architecture : {"Qwen2ForCausalLM", "Qwen3ForCausalLM"}) {
    const DecoderConfig config = parse_decoder_config(tiny_config(architecture), "config.json");
    Decoder decoder(config, at::kBFloat16, at::kCPU, 0, /*is_frozen=*/true);
    decoder.adapt({.r = 2}, 0);
    const int64_t tied_head = config.tie_word_embeddings ? config.vocab_size * config.hidden_size : 0;
    const MemoryPlan plan = plan_memory(decoder, kStep);
    EXPECT_EQ(part(plan, "weights"), (decoder.num_parameters() + tied_head) * 2) << architecture;
    EXPECT_EQ(part(plan, "a weight's gradient"), 300 * 48 * 2) << "laid out for the head's backward";
  }
}

TEST(MemoryPlan, TakesForTheProgramWhatIsResidentOfNothingElse) {
  const auto decoder = tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kFloat);
  const int64_t program = part(plan_memory(*decoder, kStep), "program");
  EXPECT_GT(program, int64_t{40} << 20);
  StepShape step = kStep;
  step.reward_bytes = int64_t{1} << 40;  // to come
  EXPECT_NEAR(static_cast<double>(part(plan_memory(*decoder, step), "program")), static_cast<double>(program),
              4 << 20);
  step.loaded_reward_bytes = int64_t{16} << 20;
  EXPECT_NEAR(static_cast<double>(part(plan_memory(*decoder, step), "program")),
              static_cast<double>(program - (16 << 20)), 4 << 20);
}

TEST(MemoryPlan, CountsWhatIsHeldPerRow) {
  const ThreadCount one_thread(1);
  // 2 layers; hidden 48, MLP 80; 4 query heads and 2 key heads of 12.
  const auto decoder = tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kFloat);
  MemoryPlan plan = plan_memory(*decoder, kStep);
  const int64_t kept = 2 * 48 + (48 + 2 * 24) + 48 + 2 * 80;
  const int64_t gradients = 2 * 48 + 5 * 80;
  // Norms of q and k keep their inputs, too; here with 4 and 2 heads of 24.
  const auto normed = tiny_decoder(tiny_config("Qwen3ForCausalLM"), at::kFloat);
  EXPECT_EQ(part(plan_memory(*normed, kStep), "activations"),
            40 * 4 * (2 * (2 * 48 + 2 * (96 + 2 * 48) + 96 + 2 * 80) + 2 * 48 + 3 * 96 + 6 * 48));
  EXPECT_EQ(part(plan, "activations"), 40 * 4 * (2 * kept + gradients));
  EXPECT_EQ(part(plan, "KV cache"), 7 * 16 * 2 * 2 * (2 * 16) * 4);  // heads are filled up to 16
  EXPECT_EQ(part(plan, "logits"), 12 * 300 * 2 * 4);
  EXPECT_EQ(part({{}, {}, plan.updating}, "logits"), 40 * 300 * 4);
  EXPECT_EQ(part(plan, "a weight's gradient"), 300 * 48 * 2 * 4);

  StepShape step = kStep;
  step.recompute = true;
  EXPECT_EQ(part(plan_memory(*decoder, step), "activations"), 40 * 4 * (2 * 48 + kept + gradients));
  step.recompute = false;
  step.record = {.rows = 100};
  plan = plan_memory(*decoder, step);
  EXPECT_EQ(part(plan, "activations"), 40 * 4 * (2 * 48 + kept + gradients));
  // q k v, attended rows and their heads' sums, the output's and the MLP's products.
  EXPECT_EQ(part(plan, "record of the sampler"), 100 * 2 * 4 * (48 + 2 * 24 + 48 + 4 + 48 + 2 * 80 + 48));
  step.record.covers_step = false;  // a micro-batch may have to be forwarded
  EXPECT_EQ(part(plan_memory(*decoder, step), "activations"), 40 * 4 * (2 * kept + gradients));
  step.record.covers_step = true;
  // Of the last product alone micro-batches keep as much as ever.
  step.record.parts = RecordedParts::kDown;
  plan = plan_memory(*decoder, step);
  EXPECT_EQ(part(plan, "activations"), 40 * 4 * (2 * kept + gradients));
  EXPECT_EQ(part(plan, "record of the sampler"), 100 * 2 * 4 * 48);
  step.record.parts = RecordedParts::kAll;
  step.longest_sequence = 60;  // goes through in one piece
  EXPECT_EQ(part(plan_memory(*decoder, step), "activations"), 60 * 4 * (2 * 48 + kept + gradients));
}

TEST(MemoryPlan, LetsGroupsShareHalfAGibibyteOfActivations) {
  const ThreadCount one_thread(1);
  const int64_t kept = 2 * 48 + (48 + 2 * 24) + 48 + 2 * 80;  // of one of two layers
  const auto decoder = tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kFloat);
  EXPECT_EQ(microbatch_rows(0, *decoder, false).most, 2560);
  EXPECT_EQ(microbatch_rows(0, *decoder, false).shared, (512 << 20) / (2 * kept * 4));
  EXPECT_EQ(microbatch_rows(0, *decoder, true).shared, (512 << 20) / ((2 * 48 + kept) * 4));
  EXPECT_EQ(microbatch_rows(0, *tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kBFloat16), false).shared,
            (512 << 20) / (2 * kept * 2));
  EXPECT_EQ(microbatch_rows(7, *decoder, false).most, 7);
  EXPECT_GT(microbatch_rows(7, *decoder, false).shared, int64_t{1} << 60) << "a setting holds as it is";
}

TEST(MemoryPlan, CountsTheLargestMicroBatch) {
  const ThreadCount one_thread(1);
  Json config = tiny_config("LlamaForCausalLM");
  config["num_hidden_layers"] = 1;
  config["intermediate_size"] = 40'000;  // of 80,000 elements a row keeps and more
  const Decoder decoder(parse_decoder_config(config, "config.json"), at::kFloat, at::kMeta);
  const int64_t shared = microbatch_rows(0, decoder, false).shared;
  ASSERT_GT(shared, 1000);
  ASSERT_LT(shared, 2000);
  StepShape step = kStep;
  step.rows = 100'000;
  step.tokens_per_microbatch = 1;
  step.longest_sequence = 1;
  const int64_t row_bytes = part(plan_memory(decoder, step), "activations");
  const auto rows = [&](int64_t setting) {
    step.tokens_per_microbatch = setting;
    return part(plan_memory(decoder, step), "activations") / row_bytes;
  };
  EXPECT_EQ(rows(5000), 5000);
  step.largest_group = 5;
  EXPECT_EQ(rows(0), shared);
  EXPECT_EQ(rows(5000), 5000);
  step.largest_group = 2100;
  EXPECT_EQ(rows(0), 2100);
  step.largest_group = 9000;
  EXPECT_EQ(rows(0), 2560);
  step.longest_sequence = 3000;
  EXPECT_EQ(rows(0), 3000);
  step.equal_groups = EqualGroups{.count = 9, .prompt_rows = 0, .completion_rows = 300, .num_generations = 1};
  EXPECT_EQ(rows(0), shared / 300 * 300);
  EXPECT_EQ(rows(600), 600);
}

TEST(MemoryPlan, RecordsOfAStepWhatTakesItsShareOfTheMachine) {
  const auto decoder = tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kFloat);
  const auto most = [&](RecordedParts parts, int64_t share) {
    return physical_memory_bytes() / share /
           ActivationRecord::bytes_per_row(decoder->config(), at::kFloat, parts);
  };
  const int64_t most_whole = most(RecordedParts::kAll, 16), most_down = most(RecordedParts::kDown, 70);
  EXPECT_EQ(plan_record(*decoder, most_whole).rows, most_whole);
  EXPECT_EQ(plan_record(*decoder, most_whole).parts, RecordedParts::kAll);
  EXPECT_EQ(plan_record(*decoder, most_whole + 1).rows, most_whole + 1);
  EXPECT_EQ(plan_record(*decoder, most_whole + 1).parts, RecordedParts::kDown);
  EXPECT_EQ(plan_record(*decoder, most_down).rows, most_down);
  EXPECT_EQ(plan_record(*decoder, most_down + 1).rows, 0);
  EXPECT_EQ(plan_record(*tiny_decoder(tiny_config("MixtralForCausalLM"), at::kFloat), 1).rows, 0);
  // Of several rollouts as many as fit.
  const int64_t third = most_whole / 3;
  EXPECT_EQ(plan_record(*decoder, third, 2).rows, 2 * third);
  EXPECT_TRUE(plan_record(*decoder, third, 3).covers_step);
  EXPECT_EQ(plan_record(*decoder, third, 4).rows, most_whole);
  EXPECT_FALSE(plan_record(*decoder, third, 4).covers_step);
}

TEST(MemoryPlan, CountsACriticAndTheLargerOfTwoUpdates) {
  const ThreadCount one_thread(1);
  const auto policy = tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kFloat);
  const auto head = [](const char* family, int64_t layers) {
    Json config = tiny_config(family);
    config["num_hidden_layers"] = layers;
    return tiny_decoder(config_with_head(config, "config.json", HeadKind::kSequenceClassification, 1),
                        at::kFloat);
  };
  const MemoryPlan alone = plan_memory(*policy, kStep);
  EXPECT_EQ(part(alone, "critic"), 0);
  for (const int64_t layers : {1, 5}) {
    const auto critic = head("Qwen2ForCausalLM", layers);
    StepShape step = kStep;
    step.critic = critic.get();
    const MemoryPlan plan = plan_memory(*policy, step);
    EXPECT_EQ(part(plan, "critic"), critic->num_parameters() * (4 + 4 + 4 + 8));
    const int64_t activations = part(plan_memory(*critic, kStep), "activations");
    EXPECT_EQ(part(plan, "activations"), layers == 1 ? part(alone, "activations") : activations);
  }
}

TEST(MemoryPlan, CountsTheMicroBatchesOfSmallModelsThatThreadsHoldSideBySide) {
  const auto decoder = tiny_decoder(tiny_config("Qwen2ForCausalLM"), at::kFloat);
  const auto plan_with = [&](int threads) {
    const ThreadCount count(threads);
    return plan_memory(*decoder, kStep);
  };
  const MemoryPlan one = plan_with(1), two = plan_with(2);
  EXPECT_EQ(part(two, "activations"), 2 * part(one, "activations"));
  // 100 rows are 3 micro-batches of 40.
  EXPECT_EQ(part(two, "gradients apart"), 3 * decoder->num_parameters() * 4);
}

TEST(MemoryPlan, DescribesItsParts) {
  MemoryPlan plan;
  plan.always = {{"weights", 3 << 20}, {"reference", 0}, {"gradients", 1 << 20}};
  plan.updating = {{"activations", 2 << 20}};
  EXPECT_EQ(plan.describe(),
            "6.0 MiB: weights 3.0 MiB, gradients 1.0 MiB; activations 2.0 MiB while updating");
  plan.sampling = {{"KV cache", 5 << 20}};
  EXPECT_EQ(plan.total(), 9 << 20);
  EXPECT_EQ(plan.describe(),
            "9.0 MiB: weights 3.0 MiB, gradients 1.0 MiB; KV cache 5.0 MiB while sampling or activations 2.0 "
            "MiB while updating");
}

}  // namespace
}  // namespace cohort
