// Code: the last fenced block of the completion runs in the sandbox, in a process and a file system of its
// own for each hidden test, and our side compares what comes out. Whatever the program does, be it wrong, a
// crash, a hang or an attack, is a test that is not passed; only a failure of the sandbox itself is none of
// its business.
#include <cmath>

#include "cohort/core/error.h"
#include "cohort/rewards/code_block.h"
#include "cohort/rewards/code_keys.h"
#include "cohort/rewards/code_test.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/python_driver.h"
#include "cohort/rewards/python_imports.h"
#include "cohort/rewards/sandbox.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

constexpr double kDefaultTestTimeoutS = 2.0;
constexpr int64_t kDefaultMemoryMb = 256;
constexpr int64_t kCompileMs = 30000, kCompileBytes = int64_t{1} << 30;
// Where only the memory of each process is bounded, few may run.
constexpr int64_t kUnboundedProcesses = 4;
// Of a compiled program: it is copied into every test.
constexpr size_t kMaxProgramBytes = 16 << 20;
constexpr int64_t kMaxFailuresNamed = 3;
constexpr double kPrintedTolerance = 1e-6;
constexpr const char* kNoPrelude = "none";

SandboxOptions sandbox_options(const CodeKeys& keys, const CodeLanguage& language) {
  SandboxOptions options;
  options.runtime = language.runtime;
  options.waived = keys.waive_layers;
  options.num_workers = keys.workers.value_or(0);
  return options;
}

Tolerance float_tolerance(const CodeKeys& keys, double usual) {
  Tolerance tolerance;
  tolerance.absolute = keys.tolerance.value_or(usual);
  if (tolerance.absolute == 0.0) tolerance.relative = 0.0;
  return tolerance;
}

std::string in_box(const std::string& name) { return str(kBoxFolder, "/", name); }

class CodeReward : public Reward {
 public:
  CodeReward(const std::string& name, const CodeKeys& keys)
      : language_(find_language(str("reward ", name, ": "), keys.language)),
        sandbox_(sandbox_options(keys, language_)),
        needs_all_tests_(keys.all_tests),
        prelude_(keys.prelude),
        output_tolerance_(float_tolerance(keys, kPrintedTolerance)),
        value_tolerance_(float_tolerance(keys, Tolerance().absolute)) {
    limits_.wall_ms = static_cast<int64_t>(std::ceil(keys.timeout_s.value_or(kDefaultTestTimeoutS) * 1000.0));
    limits_.memory_bytes = keys.memory_mb.value_or(kDefaultMemoryMb) << 20;
    if (!sandbox_.limits_memory()) limits_.num_processes = kUnboundedProcesses;
    const std::string fault = try_out();
    if (!fault.empty()) {
      throw ConfigError(str("reward ", name, ": a program of ", language_.tags.front(),
                            " that does nothing can't run in the sandbox: ", fault,
                            "; `runtime` must name all files that programs need"));
    }
  }

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    std::vector<CodeTest> tests;
    try {
      tests = read_code_tests(prompt.fields);
      check_calls(tests);
    } catch (const FormatError& error) {
      return {0.0, RewardStatus::kUnparsed, str(prompt.id, ": ", error.what())};
    }
    const std::optional<std::string> text = last_code_block(completion.text, language_.tags);
    if (!text) return {0.0, RewardStatus::kOk, str("no fenced block of ", language_.tags.front())};
    RewardResult result = run_all(*text, tests);
    if (result.status != RewardStatus::kOk) result.detail = str(prompt.id, ": ", result.detail);
    return result;
  }

  std::string environment() const override { return "sandbox " + sandbox_.level(); }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const std::optional<std::string> text = last_code_block(completion.text, language_.tags);
    const Json* tests = find_code_tests(prompt.fields);
    return {{"program", text ? shown(*text) : str("no fenced block of ", language_.tags.front())},
            {"tests", tests == nullptr ? "none" : shown(to_json_text(*tests))}};
  }

 private:
  void check_calls(const std::vector<CodeTest>& tests) const {
    for (size_t i = 0; i < tests.size() && !language_.is_python; ++i) {
      if (tests[i].kind != CodeTest::Kind::kOutput)
        throw FormatError(str("test ", i + 1, " calls a function, which only tests of Python can"));
    }
  }

  RewardResult run_all(const std::string& text, const std::vector<CodeTest>& tests) {
    SandboxFile program{language_.source_name, text};
    if (const std::optional<RewardResult> failed = build(program)) return *failed;
    return judge(tests, run_tests(program, tests));
  }

  // Makes the program of its source, where the language is compiled; or else what the completion gets.
  std::optional<RewardResult> build(SandboxFile& program) {
    if (language_.compile.empty()) return std::nullopt;
    SandboxOutcome compiled = compile(program);
    std::string fault = find_end_fault(compiled, compile_limits());
    if (compiled.cause == SandboxCause::kFailure)
      return RewardResult{0.0, RewardStatus::kSandboxError, fault};
    if (fault.empty() && !compiled.has_result) fault = "no program came out";
    if (fault.empty() && compiled.result.size() > kMaxProgramBytes)
      fault = str("the program is larger than ", kMaxProgramBytes >> 20, " MiB");
    if (!fault.empty()) return RewardResult{0.0, RewardStatus::kOk, "does not compile: " + fault};
    program = {"program", std::move(compiled.result), true};
    return std::nullopt;
  }

  // Whether the sandbox holds what the language needs: what is wrong must not become everybody's 0. What
  // languages of the user's own make of an empty program is not known; but their programs must start.
  std::string try_out() {
    const bool is_known = !language_.smallest_program.empty();
    SandboxFile program{language_.source_name, language_.smallest_program};
    if (const std::optional<RewardResult> failed = build(program))
      return is_known || failed->status == RewardStatus::kSandboxError ? failed->detail : "";
    const CodeTest nothing;
    SandboxJob job = make_job(program, nothing);
    job.limits.wall_ms = kCompileMs;
    const SandboxOutcome outcome = sandbox_.run(job);
    constexpr int kNotFound = 127;  // as the loader says where a library is missing
    const bool has_not_started = outcome.cause == SandboxCause::kFailure ||
                                 (outcome.cause == SandboxCause::kExit && outcome.code == kNotFound);
    return is_known || has_not_started ? find_fault(nothing, outcome) : "";
  }

  SandboxLimits compile_limits() const {
    SandboxLimits limits = limits_;
    limits.wall_ms = kCompileMs;
    limits.memory_bytes = kCompileBytes;
    limits.num_processes = SandboxLimits().num_processes;
    limits.file_bytes = 4 * SandboxLimits().file_bytes;
    return limits;
  }

  SandboxOutcome compile(const SandboxFile& source) {
    SandboxJob job;
    job.command = with_files(language_.compile, in_box(source.name), str(kWorkFolder, "/program"));
    job.environment = language_.environment;
    job.files = {source};
    job.result_file = "program";
    job.limits = compile_limits();
    return sandbox_.run(job);
  }

  // What is right may be printed, and a wrong answer may be as long again.
  SandboxLimits test_limits(const CodeTest& test) const {
    SandboxLimits limits = limits_;
    const size_t expected = test.kind == CodeTest::Kind::kOutput  ? 2 * test.expected_output.size()
                            : test.kind == CodeTest::Kind::kValue ? max_encoded_bytes(test.expected)
                                                                  : 0;
    limits.output_bytes += static_cast<int64_t>(expected);
    return limits;
  }

  SandboxJob make_job(const SandboxFile& program, const CodeTest& test) const {
    SandboxJob job;
    job.environment = language_.environment;
    job.files = {program};
    job.limits = test_limits(test);
    std::string source = program.name;
    if (test.kind == CodeTest::Kind::kOutput) {
      job.input = test.input;
    } else {
      job.files.push_back({"call.json", test.call});
    }
    if (language_.is_python) {
      source = "driver.py";
      job.files.push_back({source, kPythonDriver});
      add_python_files(job, test);
    }
    job.command = with_files(language_.run, in_box(source), in_box("program"));
    return job;
  }

  void add_python_files(SandboxJob& job, const CodeTest& test) const {
    if (!test.setup.empty()) job.files.push_back({"setup.py", test.setup});
    if (!prelude_.empty() && prelude_ != kNoPrelude) job.files.push_back({"prelude.py", prelude_});
    if (prelude_.empty() && test.has_imports) job.files.push_back({"imports.txt", kJudgeImports});
  }

  // Outcomes of tests that need not run any more stay empty.
  std::vector<std::optional<SandboxOutcome>> run_tests(const SandboxFile& program,
                                                       const std::vector<CodeTest>& tests) {
    std::vector<std::optional<SandboxOutcome>> outcomes(tests.size());
    const auto on_outcome = [&](size_t test, SandboxOutcome outcome) {
      outcomes[test] = std::move(outcome);
      if (outcomes[test]->cause == SandboxCause::kFailure) return false;
      return !needs_all_tests_ || find_fault(tests[test], *outcomes[test]).empty();
    };
    sandbox_.run(tests.size(), [&](size_t test) { return make_job(program, tests[test]); }, on_outcome);
    return outcomes;
  }

  std::string find_fault(const CodeTest& test, const SandboxOutcome& outcome) const {
    std::string fault = find_end_fault(outcome, test_limits(test));
    if (!fault.empty()) return fault;
    return test.kind == CodeTest::Kind::kOutput ? find_output_fault(test, outcome.output, output_tolerance_)
                                                : find_value_fault(test, outcome.output, value_tolerance_);
  }

  RewardResult judge(const std::vector<CodeTest>& tests,
                     const std::vector<std::optional<SandboxOutcome>>& outcomes) const {
    int64_t num_passed = 0, num_failed = 0;
    std::string named;
    for (size_t i = 0; i < tests.size(); ++i) {
      if (!outcomes[i]) continue;
      if (outcomes[i]->cause == SandboxCause::kFailure)
        return {0.0, RewardStatus::kSandboxError, outcomes[i]->failure};
      const std::string fault = find_fault(tests[i], *outcomes[i]);
      fault.empty() ? ++num_passed : ++num_failed;
      if (!fault.empty() && num_failed <= kMaxFailuresNamed) named += str("; test ", i + 1, ": ", fault);
    }
    const auto num_tests = static_cast<int64_t>(tests.size());
    const double share = static_cast<double>(num_passed) / static_cast<double>(num_tests);
    const double score = needs_all_tests_ ? (num_passed == num_tests ? 1.0 : 0.0) : share;
    return {score, RewardStatus::kOk, str(num_passed, " of ", num_tests, " tests passed", named)};
  }

  CodeLanguage language_;
  Sandbox sandbox_;
  bool needs_all_tests_;
  std::string prelude_;
  Tolerance output_tolerance_, value_tolerance_;
  SandboxLimits limits_;
};

}  // namespace

RewardMaker code_reward() {
  return reward_maker<CodeKeys>([](const RewardConfig& config, const CodeKeys& keys) {
    keys.check(str("reward ", config.name, ": "));
    return std::make_unique<CodeReward>(config.name, keys);
  });
}

}  // namespace cohort
