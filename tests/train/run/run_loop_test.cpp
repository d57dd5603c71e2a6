// The run loop with a trainer that is a counter: what it writes, when it saves and evaluates, how it ends.
#include "cohort/train/run/run_loop.h"

#include <gtest/gtest.h>

#include <csignal>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/core/time_text.h"
#include "cohort/models/pretrained.h"
#include "cohort/records/completions_log.h"
#include "cohort/train/run/rollback.h"
#include "tests/core/test_files.h"
#include "tests/models/tiny_decoder.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

using Steps = std::vector<int64_t>;

/// Each step adds 1 to a weight. `on_step` may change what the step reports.
class CountingTrainer : public Trainer {
 public:
  explicit CountingTrainer(Decoder& decoder) : decoder_(decoder) {}

  StepReport step(int64_t index) override {
    const at::NoGradGuard no_grad;
    decoder_.parameters().front().flatten()[0].add_(1.0);
    decoder_.refresh();
    ++num_steps_;
    steps.push_back(index);
    StepReport report;
    report.metrics = {{"reward", static_cast<double>(num_steps_)}};
    report.timings = {{"perf/throughput", 7.0}};
    report.completions = {Json{{"step", index}}};
    report.batch = Batch{.step = index};
    report.nonfinite = {Json{{"completion", "bad"}}};
    if (on_step) on_step(report, index);
    return report;
  }
  Json save() const override { return num_steps_; }
  void load(const Json& state) override { num_steps_ = state.get<int64_t>(); }
  void begin_branch(int64_t count) override { branch = count; }
  void note_evaluation(const Metrics& metrics, StepReport& report) override {
    if (find_metric(metrics, "eval_reward") < 0.0) report.stop_reason = "the canary sings no more";
  }

  std::function<void(StepReport&, int64_t)> on_step;
  Steps steps;  ///< that this trainer made
  int64_t branch = 0;

 private:
  Decoder& decoder_;
  int64_t num_steps_ = 0;
};

/// The steps behind a decoder's weights.
double counted_steps(const Decoder& decoder) {
  return decoder.parameters().front().flatten()[0].item<double>();
}

/// The steps behind the weights of a model directory.
double counted_steps(const fs::path& model) {
  return counted_steps(*load_pretrained(model, at::kFloat, at::kCPU));
}

/// One process of a run in a directory, whose counted weight begins at 0.
struct Process {
  Process(RunDirectory directory, fs::path source_model, LoopConfig config)
      : run(std::move(directory)), source(std::move(source_model)), loop(std::move(config)) {
    const at::NoGradGuard no_grad;
    decoder->parameters().front().flatten()[0].zero_();
    decoder->refresh();
  }

  int go(bool resume = false) {
    RunLoop run_loop(run, loop, *decoder, optimizer, trainer, source, evaluate);
    if (resume) run_loop.resume();
    return run_loop.run();
  }

  RunDirectory run;
  fs::path source;
  LoopConfig loop;
  std::unique_ptr<Decoder> decoder = tiny_decoder(tiny_config("LlamaForCausalLM"), at::kFloat);
  AdamW optimizer{decoder->parameters(), {}};
  CountingTrainer trainer{*decoder};
  std::function<EvalRecord()> evaluate;
};

class RunLoopTest : public testing::Test {
 protected:
  RunLoopTest() {
    fs::create_directories(source_);
    write_json(source_ / "config.json", tiny_config("LlamaForCausalLM"));
    write_text(source_ / "tokenizer.json", "{}");
  }

  std::unique_ptr<Process> begin(const LoopConfig& loop, const char* name = "run") {
    return std::make_unique<Process>(RunDirectory::create(root_ / name, "", kStart), source_, loop);
  }

  std::unique_ptr<Process> resume(const LoopConfig& loop, const char* name = "run") {
    return std::make_unique<Process>(RunDirectory::resume(root_ / name), source_, loop);
  }

  static std::vector<Json> lines_of(const fs::path& file) {
    std::istringstream text(read_text(file));
    std::vector<Json> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  static Steps steps_of(const fs::path& file) {
    Steps steps;
    for (const Json& line : lines_of(file)) steps.push_back(line.at("step").get<int64_t>());
    return steps;
  }

  static constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  const std::tm kStart = *parse_time_text("2027-03-04T05:06:07");
  const ThreadCount one_thread_{1};
  const TemporaryDirectory directory_;
  const fs::path root_ = directory_.path(), source_ = root_ / "model";
};

TEST_F(RunLoopTest, WritesALineAStepAndTheFinalModel) {
  const auto process = begin({.max_steps = 3});
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(process->trainer.steps, (Steps{1, 2, 3}));
  const RunDirectory& run = process->run;
  EXPECT_EQ(lines_of(run.metrics_file())[2], Json::parse(R"({"step": 3, "reward": 3.0})"));
  EXPECT_EQ(steps_of(run.metrics_file()), (Steps{1, 2, 3}));
  EXPECT_EQ(lines_of(run.timings_file())[1], Json::parse(R"({"step": 2, "perf/throughput": 7.0})"));
  EXPECT_EQ(steps_of(run.completions_file()), (Steps{1, 2, 3}));
  EXPECT_TRUE(fs::exists(run.events_file()));
  EXPECT_EQ(run.checkpoint_steps(), Steps{3}) << "at the end alone";
  EXPECT_FALSE(fs::exists(run.best_model()));
  EXPECT_EQ(counted_steps(run.final_model()), 3.0);
  EXPECT_EQ(read_text(run.final_model() / "tokenizer.json"), "{}");
}

// A caller with a loop of its own adds a metric, evaluates and saves when it wants to.
TEST_F(RunLoopTest, TakesTheStepsOneByOne) {
  const auto process = begin({.max_steps = 2, .eval_steps = 5});
  process->evaluate = [] { return EvalRecord{1.0, {{"eval_reward", 1.0}}}; };
  RunLoop run_loop(process->run, process->loop, *process->decoder, process->optimizer, process->trainer,
                   source_, process->evaluate);
  run_loop.begin();
  StepReport first = run_loop.take_step();
  EXPECT_EQ(steps_of(process->run.metrics_file()), Steps{});
  EXPECT_FALSE(run_loop.is_evaluation_due());
  run_loop.evaluate(first);
  first.metrics.emplace_back("own", 4.0);
  run_loop.end_step(first);
  run_loop.save();
  EXPECT_EQ(lines_of(process->run.metrics_file()),
            (std::vector{Json::parse(R"({"step": 1, "reward": 1.0, "eval_reward": 1.0, "own": 4.0})")}));
  EXPECT_EQ(process->run.checkpoint_steps(), Steps{1});
  EXPECT_TRUE(run_loop.goes_on());
  run_loop.end_step(run_loop.take_step());
  EXPECT_TRUE(run_loop.is_evaluation_due()) << "the last step is evaluated";
  EXPECT_FALSE(run_loop.goes_on());
  run_loop.finish();
  EXPECT_EQ(process->run.checkpoint_steps(), Steps{2});
  EXPECT_EQ(counted_steps(process->run.final_model()), 2.0);
}

TEST_F(RunLoopTest, SavesEverySaveStepsAndKeepsTheNewest) {
  const auto process = begin({.max_steps = 7, .save_steps = 2, .save_total_limit = 2});
  std::vector<Steps> kept;
  process->trainer.on_step = [&](StepReport&, int64_t) { kept.push_back(process->run.checkpoint_steps()); };
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(kept, (std::vector<Steps>{{}, {}, {2}, {2}, {2, 4}, {2, 4}, {4, 6}}));
  EXPECT_EQ(process->run.checkpoint_steps(), (Steps{6, 7}));
}

TEST_F(RunLoopTest, KeepsTheLastBatchOrAll) {
  const auto last = begin({.max_steps = 3}, "last"),
             all = begin({.max_steps = 3, .save_batches = true}, "all");
  EXPECT_EQ(last->go() + all->go(), 0);
  EXPECT_EQ(RunDirectory::batch_steps(root_ / "last"), Steps{3});
  EXPECT_EQ(RunDirectory::batch_steps(root_ / "all"), (Steps{1, 2, 3}));
}

TEST_F(RunLoopTest, WritesCompletionsWhereTheyAreAskedFor) {
  const auto process = begin({.max_steps = 2, .log_completions = false});
  EXPECT_EQ(process->go(), 0);
  EXPECT_FALSE(fs::exists(process->run.completions_file()));
}

// A process dies in step 6; another goes on from step 4 and writes what one process would have written.
TEST_F(RunLoopTest, GoesOnFromTheNewestCheckpoint) {
  const LoopConfig loop{.max_steps = 8, .save_steps = 2, .save_total_limit = 3};
  const auto whole = begin(loop, "whole");
  EXPECT_EQ(whole->go(), 0);
  {
    const auto dying = begin(loop);
    dying->trainer.on_step = [](StepReport&, int64_t index) {
      if (index == 6) throw std::runtime_error("killed");
    };
    EXPECT_THROW(dying->go(), std::runtime_error);
    EXPECT_EQ(steps_of(dying->run.metrics_file()), (Steps{1, 2, 3, 4, 5}));
  }
  const auto second = resume(loop);
  EXPECT_EQ(second->go(/*resume=*/true), 0);
  EXPECT_EQ(second->trainer.steps, (Steps{5, 6, 7, 8}));
  EXPECT_EQ(counted_steps(*second->decoder), 8.0);
  for (const char* file : {"metrics.jsonl", "timings.jsonl", "completions.jsonl", "final/model.safetensors"})
    EXPECT_EQ(read_text(root_ / "run" / file), read_text(root_ / "whole" / file)) << file;
  EXPECT_EQ(second->run.checkpoint_steps(), (Steps{4, 6, 8}));
}

TEST_F(RunLoopTest, ARunThatIsDoneIsNotRunAgain) {
  {
    EXPECT_EQ(begin({.max_steps = 2})->go(), 0);
  }
  const auto again = resume({.max_steps = 2});
  EXPECT_EQ(again->go(/*resume=*/true), 0);
  EXPECT_EQ(again->trainer.steps, Steps{});
  EXPECT_EQ(steps_of(again->run.metrics_file()), (Steps{1, 2}));
}

/// Returns the scores one after the other, with the metric `eval_loss` at 10 less the score.
std::function<EvalRecord()> scores_of(std::vector<double> scores, int64_t& calls) {
  return [scores = std::move(scores), &calls] {
    const double score = scores.at(calls++);
    const bool is_judged = score == score;
    return EvalRecord{is_judged ? std::optional(score) : std::nullopt,
                      {{"eval_reward", score}, {"eval_loss", 10.0 - score}}};
  };
}

/// An alarm in step 7 of the first branch, which says that all was well up to step 5.
void collapse_once(Process& process) {
  process.trainer.on_step = [&process](StepReport& report, int64_t index) {
    report.sound_step = std::min<int64_t>(index - 1, 5);
    if (index == 7 && process.trainer.branch == 0) report.rollback_reason = "the reward fell";
  };
}

TEST_F(RunLoopTest, GoesBackToTheNewestSoundCheckpoint) {
  const auto process = begin({.max_steps = 8, .save_steps = 2, .max_rollbacks = 1});
  collapse_once(*process);
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(process->trainer.steps, (Steps{1, 2, 3, 4, 5, 6, 7, 5, 6, 7, 8}));
  EXPECT_EQ(process->trainer.branch, 1);
  EXPECT_EQ(counted_steps(*process->decoder), 8.0);
  EXPECT_EQ(steps_of(process->run.metrics_file()), (Steps{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(
      lines_of(process->run.rollbacks_file()),
      (std::vector{Json::parse(R"({"rollback": 1, "step": 7, "to_step": 4, "reason": "the reward fell"})")}));
  const fs::path left = process->run.rollback_folder(1);
  EXPECT_EQ(steps_of(left / "metrics.jsonl"), (Steps{5, 6, 7}));
  EXPECT_EQ(steps_of(left / "completions.jsonl"), (Steps{5, 6, 7}));
}

// Whatever the best step turns out to be: the checkpoints of the window of 2, the newest one before it and
// the newest one up to the best step, 2, although save_total_limit is 1.
TEST_F(RunLoopTest, KeepsTheCheckpointsThatItMayGoBackTo) {
  const auto process = begin({.max_steps = 8, .save_steps = 1, .max_rollbacks = 1});
  process->trainer.on_step = [&](StepReport& report, int64_t index) {
    report.unseen_step = index - 2;
    report.sound_step = std::min<int64_t>(index - 2, 2);
    if (index == 8) {
      EXPECT_EQ(process->run.checkpoint_steps(), (Steps{2, 5, 6, 7}));
    }
  };
  EXPECT_EQ(process->go(), 0);
}

TEST_F(RunLoopTest, EachRollbackHasAFolder) {
  const auto process = begin({.max_steps = 8, .save_steps = 2, .max_rollbacks = 2, .save_batches = true});
  process->trainer.on_step = [&](StepReport& report, int64_t index) {
    report.sound_step = std::min<int64_t>(index - 1, 5);
    report.is_finite = index != 6;
    if (index == 7 && process->trainer.branch < 2) report.rollback_reason = "the reward fell";
  };
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(RunDirectory::batch_steps(process->run.root()), (Steps{1, 2, 3, 4, 5, 6, 7, 8}));
  for (const int64_t count : {1, 2}) {
    const fs::path left = process->run.rollback_folder(count);
    EXPECT_EQ(steps_of(left / "metrics.jsonl"), (Steps{5, 6, 7}));
    EXPECT_TRUE(fs::exists(left / "step-00000007.batch"));
    EXPECT_TRUE(fs::exists(left / "nonfinite-6.jsonl"));
  }
  EXPECT_EQ(lines_of(process->run.rollbacks_file()).size(), 2u);
}

TEST_F(RunLoopTest, ACheckpointThatCanNotBeReadChangesNothing) {
  const auto process = begin({.max_steps = 8, .save_steps = 2, .save_total_limit = 9, .max_rollbacks = 1});
  collapse_once(*process);
  const auto collapse = process->trainer.on_step;
  process->trainer.on_step = [&](StepReport& report, int64_t index) {
    collapse(report, index);
    if (index == 7) fs::remove(process->run.checkpoint(4) / "optimizer.safetensors");
  };
  EXPECT_NE(message_of<FormatError>([&] { process->go(); }).find("optimizer.safetensors"), std::string::npos);
  EXPECT_FALSE(fs::exists(process->run.rollbacks_file()));
  EXPECT_EQ(process->run.checkpoint_steps(), (Steps{2, 4, 6}));
  EXPECT_EQ(steps_of(process->run.metrics_file()), (Steps{1, 2, 3, 4, 5, 6, 7}));
}

// The new file has other sizes than the one that the checkpoint knew.
TEST_F(RunLoopTest, GoesBackWhereARecordWasDeleted) {
  const LoopConfig loop{.max_steps = 8, .save_steps = 2, .save_total_limit = 9, .max_rollbacks = 1};
  {
    const auto first = begin(loop);
    first->trainer.on_step = [](StepReport&, int64_t index) {
      if (index == 5) throw std::runtime_error("killed");
    };
    EXPECT_THROW(first->go(), std::runtime_error);
  }
  fs::remove(root_ / "run" / "completions.jsonl");
  const auto second = resume(loop);
  collapse_once(*second);
  EXPECT_EQ(second->go(/*resume=*/true), 0);
  EXPECT_EQ(steps_of(second->run.completions_file()), (Steps{5, 6, 7, 8}));
  EXPECT_EQ(steps_of(second->run.rollback_folder(1) / "completions.jsonl"), (Steps{5, 6, 7}));
}

Steps completed_steps(const fs::path& run) {
  Steps steps;
  for_each_completion(run, std::nullopt, [&](const std::string& line) {
    steps.push_back(Json::parse(line).at("step").get<int64_t>());
  });
  return steps;
}

// Each checkpoint compresses the lines before it; the run goes on from before the last two.
TEST_F(RunLoopTest, ResumesFromBeforeItsCompletionsWereCompressed) {
  const LoopConfig loop{.max_steps = 8, .save_steps = 2, .save_total_limit = 9, .completions_bytes = 1};
  EXPECT_EQ(begin(loop)->go(), 0);
  EXPECT_EQ(completed_steps(root_ / "run"), (Steps{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(steps_of(root_ / "run/completions.jsonl"), Steps{});
  for (const char* step : {"step-00000006", "step-00000008"})
    fs::remove_all(root_ / "run/checkpoints" / step);
  const auto again = resume(loop);
  EXPECT_EQ(again->go(/*resume=*/true), 0);
  EXPECT_EQ(again->trainer.steps, (Steps{5, 6, 7, 8}));
  EXPECT_EQ(completed_steps(root_ / "run"), (Steps{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(RunLoopTest, GoesBackToBeforeItsCompletionsWereCompressed) {
  const auto process = begin({.max_steps = 8, .save_steps = 2, .max_rollbacks = 1, .completions_bytes = 1});
  collapse_once(*process);
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(completed_steps(process->run.root()), (Steps{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(steps_of(process->run.rollback_folder(1) / "completions.jsonl"), (Steps{5, 6, 7}));
}

// The best model may be that of the branch that was left.
TEST_F(RunLoopTest, TheBestScoreOutlivesARollback) {
  const auto process =
      begin({.max_steps = 8, .save_steps = 2, .save_total_limit = 9, .eval_steps = 3, .max_rollbacks = 1});
  collapse_once(*process);
  int64_t calls = 0;
  process->evaluate = scores_of({1.0, 5.0, 3.0, 4.0}, calls);  // after 3, 6, again 6, and 8
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(counted_steps(process->run.best_model()), 6.0);
  EXPECT_EQ(lines_of(process->run.rollbacks_file())[0].at("best_score"), 5.0);
}

TEST_F(RunLoopTest, ARollbackIsNotForgotten) {
  const LoopConfig loop{.max_steps = 8, .save_steps = 2, .save_total_limit = 9, .max_rollbacks = 1};
  {
    const auto whole = begin(loop, "whole");
    collapse_once(*whole);
    EXPECT_EQ(whole->go(), 0);
  }
  {
    const auto dying = begin(loop);
    dying->trainer.on_step = [&](StepReport& report, int64_t index) {
      report.sound_step = std::min<int64_t>(index - 1, 5);
      if (index == 7) throw std::runtime_error("killed");
    };
    EXPECT_THROW(dying->go(), std::runtime_error);
    // As if it had been killed between the line of the rollback and the end of the checkpoints after it.
    write_rollback(dying->run, {7, 4, "the reward fell", {}});
    EXPECT_EQ(dying->run.checkpoint_steps(), (Steps{2, 4, 6}));
  }
  {
    const auto second = resume(loop);
    EXPECT_EQ(second->go(/*resume=*/true), 0);
    EXPECT_EQ(second->trainer.steps, (Steps{5, 6, 7, 8}));
    EXPECT_EQ(second->trainer.branch, 1);
  }
  for (const char* file :
       {"metrics.jsonl", "completions.jsonl", "rollbacks.jsonl", "final/model.safetensors"})
    EXPECT_EQ(read_text(root_ / "run" / file), read_text(root_ / "whole" / file)) << file;
  const auto third = resume(loop);
  EXPECT_EQ(third->go(/*resume=*/true), 0) << "checkpoints of the branch count";
  EXPECT_EQ(third->trainer.steps, Steps{});
}

TEST_F(RunLoopTest, RefusesARunWhoseRollbacksAreMissing) {
  const LoopConfig loop{.max_steps = 8, .save_steps = 2, .max_rollbacks = 1};
  {
    const auto process = begin(loop);
    collapse_once(*process);
    EXPECT_EQ(process->go(), 0);
  }
  fs::remove(root_ / "run" / "rollbacks.jsonl");
  const auto again = resume(loop);
  const std::string missing = message_of<FormatError>([&] { again->go(/*resume=*/true); });
  EXPECT_NE(missing.find("rollbacks.jsonl: has 0 lines, and "), std::string::npos) << missing;
}

TEST_F(RunLoopTest, AnEvaluationMayEndTheRun) {
  const auto process = begin({.max_steps = 8, .eval_steps = 2});
  int64_t calls = 0;
  process->evaluate = scores_of({1.0, -1.0}, calls);
  EXPECT_EQ(
      message_of<UserError>([&] { process->go(); }),
      "step 4: the canary sings no more. The checkpoint is written: mend the cause and go on with --resume");
  EXPECT_EQ(process->run.checkpoint_steps(), Steps{4});
  const auto start = begin({.max_steps = 8, .eval_steps = 2, .eval_on_start = true}, "start");
  start->evaluate = scores_of({-1.0}, calls = 0);
  EXPECT_EQ(message_of<UserError>([&] { start->go(); }), "before the first step: the canary sings no more");
  EXPECT_EQ(steps_of(start->run.metrics_file()), Steps{0});
}

TEST_F(RunLoopTest, EndsWhereItCanNotGoBack) {
  const auto ending = [&](const LoopConfig& loop, const char* name) {
    const auto process = begin(loop, name);
    process->trainer.on_step = [](StepReport& report, int64_t index) {
      report.sound_step = 1;
      if (index == 4) report.rollback_reason = "the reward fell";
    };
    return message_of<UserError>([&] { process->go(); });
  };
  const std::string none = ending({.max_steps = 8, .save_steps = 2, .max_rollbacks = 3}, "none");
  EXPECT_EQ(
      none,
      "step 4: the reward fell. There is no checkpoint from before to go back to: lower train.save_steps, or "
      "give the monitor a shorter window. The checkpoint of this step is written; --resume goes on from it, "
      "or from an earlier one if those after it are deleted");
  const std::string often = ending({.max_steps = 8, .save_steps = 1, .max_rollbacks = 2}, "often");
  EXPECT_NE(often.find("The run has gone back 2 times: raise train.max_rollbacks"), std::string::npos)
      << often;
}

TEST_F(RunLoopTest, RefusesCheckpointsThatDoNotFit) {
  {
    EXPECT_EQ(begin({.max_steps = 3})->go(), 0);
  }
  const auto shorter = resume({.max_steps = 2});
  const std::string late = message_of<ConfigError>([&] { shorter->go(/*resume=*/true); });
  EXPECT_NE(late.find("is after the last step of the run, 2: raise train.max_steps"), std::string::npos)
      << late;
  const fs::path state = shorter->run.checkpoint(3) / "state.json";
  Json other = read_json(state);
  other.erase("trainer");
  write_json(state, other);
  const std::string misfit = message_of<FormatError>([&] { shorter->go(/*resume=*/true); });
  EXPECT_NE(misfit.find("state.json: does not fit these settings"), std::string::npos) << misfit;
}

// Steps 2, 4 and the last one; the best model is that of step 4.
TEST_F(RunLoopTest, EvaluatesEveryEvalStepsAndKeepsTheBestModel) {
  const auto process = begin({.max_steps = 5, .eval_steps = 2});
  int64_t calls = 0;
  process->evaluate = scores_of({1.0, 3.0, 2.0}, calls);
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(calls, 3);
  const std::vector<Json> metrics = lines_of(process->run.metrics_file());
  const bool expected[] = {false, true, false, true, true};
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(metrics[i].contains("eval_reward"), expected[i]) << i;
    EXPECT_EQ(lines_of(process->run.timings_file())[i].contains("timing_s/testing"), expected[i]) << i;
  }
  EXPECT_EQ(metrics[3]["eval_reward"], 3.0);
  EXPECT_EQ(counted_steps(process->run.best_model()), 4.0);
}

TEST_F(RunLoopTest, EvaluatesAtTheStartWhereItIsAsked) {
  const auto process = begin({.max_steps = 2, .eval_steps = 2, .eval_on_start = true});
  int64_t calls = 0;
  process->evaluate = scores_of({1.0, kNothing}, calls);
  EXPECT_EQ(process->go(), 0);
  const std::vector<Json> metrics = lines_of(process->run.metrics_file());
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_EQ(metrics[0]["step"], 0);
  EXPECT_EQ(metrics[0]["eval_reward"], 1.0);
  EXPECT_TRUE(metrics[2]["eval_reward"].is_null());
}

// Of a loss the smallest is the best: that of step 1.
TEST_F(RunLoopTest, TheBestModelMayBeThatOfAnotherMetric) {
  const auto process = begin({.max_steps = 2, .eval_steps = 1, .metric_for_best_model = "eval_loss"});
  int64_t calls = 0;
  process->evaluate = scores_of({3.0, 1.0}, calls);
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(counted_steps(process->run.best_model()), 1.0);
  const auto unknown = begin({.max_steps = 2, .eval_steps = 1, .metric_for_best_model = "eval_x"}, "unknown");
  calls = 0;
  unknown->evaluate = scores_of({3.0, 1.0}, calls);
  const std::string message = message_of<ConfigError>([&] { unknown->go(); });
  EXPECT_NE(message.find("no metric \"eval_x\"; they have eval_reward, eval_loss"), std::string::npos)
      << message;
}

TEST_F(RunLoopTest, StopsEarlyWhereEvaluationsGetNoBetter) {
  const auto process = begin({.max_steps = 9, .eval_steps = 1, .early_stopping_patience = 2});
  int64_t calls = 0;
  process->evaluate = scores_of({1.0, 2.0, 2.0, 1.5}, calls);
  EXPECT_EQ(process->go(), 0);
  EXPECT_EQ(process->trainer.steps, (Steps{1, 2, 3, 4}));
  EXPECT_EQ(process->run.checkpoint_steps(), Steps{4});
  EXPECT_TRUE(fs::exists(process->run.final_model()));
}

TEST_F(RunLoopTest, EndsAfterTooManyStepsInARowThatAreNotFinite) {
  const auto process = begin({.max_steps = 9, .save_steps = 2, .max_nonfinite_steps = 3});
  process->trainer.on_step = [](StepReport& report, int64_t index) { report.is_finite = index == 3; };
  const std::string message = message_of<UserError>([&] { process->go(); });
  EXPECT_NE(message.find("step 6: loss or gradient of 3 steps in a row were not finite"), std::string::npos)
      << message;
  EXPECT_EQ(process->trainer.steps, (Steps{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(steps_of(process->run.metrics_file()), (Steps{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read_text(process->run.root() / "nonfinite-2.jsonl"), "{\"completion\":\"bad\"}\n");
  EXPECT_FALSE(fs::exists(process->run.root() / "nonfinite-3.jsonl"));
  EXPECT_FALSE(fs::exists(process->run.final_model()));
}

TEST_F(RunLoopTest, StepsThatAreNotFiniteCountOnInAnotherProcess) {
  const LoopConfig loop{.max_steps = 9, .save_steps = 2, .max_nonfinite_steps = 3};
  const auto never_finite = [](StepReport& report, int64_t index) {
    if (index == 3) throw std::runtime_error("killed");
    report.is_finite = false;
  };
  {
    const auto first = begin(loop);
    first->trainer.on_step = never_finite;
    EXPECT_THROW(first->go(), std::runtime_error);
  }
  const auto second = resume(loop);
  second->trainer.on_step = [](StepReport& report, int64_t) { report.is_finite = false; };
  EXPECT_THROW(second->go(/*resume=*/true), UserError);
  EXPECT_EQ(second->trainer.steps, Steps{3});
}

TEST_F(RunLoopTest, ARunWithoutAFiniteStepHasNoModel) {
  const auto process = begin({.max_steps = 2});
  process->trainer.on_step = [](StepReport& report, int64_t) { report.is_finite = false; };
  const std::string message = message_of<UserError>([&] { process->go(); });
  EXPECT_NE(message.find("no step of the run had a finite loss"), std::string::npos) << message;
  EXPECT_FALSE(fs::exists(process->run.final_model()));
}

TEST_F(RunLoopTest, AStepThatSaysSoEndsTheRunAfterACheckpoint) {
  const auto process = begin({.max_steps = 9});
  process->trainer.on_step = [](StepReport& report, int64_t index) {
    if (index == 2) report.stop_reason = "reward x failed";
  };
  EXPECT_EQ(message_of<UserError>([&] { process->go(); }),
            "step 2: reward x failed. The checkpoint is written: mend the cause and go on with --resume");
  EXPECT_EQ(process->run.checkpoint_steps(), Steps{2});
  EXPECT_EQ(process->trainer.steps, (Steps{1, 2}));
}

TEST_F(RunLoopTest, ASignalEndsTheRunAfterACheckpoint) {
  const auto process = begin({.max_steps = 9});
  process->trainer.on_step = [](StepReport&, int64_t index) {
    if (index == 2) std::raise(SIGTERM);
  };
  EXPECT_EQ(process->go(), 128 + SIGTERM);
  EXPECT_EQ(process->trainer.steps, (Steps{1, 2}));
  EXPECT_EQ(process->run.checkpoint_steps(), Steps{2});
  EXPECT_FALSE(fs::exists(process->run.final_model()));
}

}  // namespace
}  // namespace cohort
