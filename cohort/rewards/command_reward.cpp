// Command: a program of the user's, in any language. Copies of it run as long as the reward does and answer
// each line, a request for several completions, with a line (batch_protocol.h). What a copy does wrong masks
// the completions that it was asked about and no others.
#include "cohort/rewards/command_reward.h"

#include <atomic>

#include "cohort/rewards/batch_protocol.h"
#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/worker_pool.h"

namespace cohort {
namespace {

constexpr double kDefaultTimeoutS = 10.0, kMaxTimeoutS = 86400.0;
constexpr int64_t kDefaultBatchSize = 8;

struct CommandKeys {
  std::vector<std::string> command;
  ProgramKeys program;

  void describe(FieldVisitor& f) {
    f("command", command,
      "A program that answers one JSON line with one JSON line (docs/rewards.md), as a list of words or as "
      "one text that /bin/sh runs.");
    program.describe(f);
  }
};

class ProgramReward : public Reward {
 public:
  ProgramReward(const ProgramKeys& keys, std::vector<std::string> command)
      : pool_(std::move(command), keys.timeout_s.value_or(kDefaultTimeoutS)),
        batch_size_(keys.batch_size.value_or(kDefaultBatchSize)),
        num_workers_(keys.workers.value_or(1)) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    const RewardRow row{prompt, completion};
    return score_batch({&row, 1}).front();
  }

  std::vector<RewardResult> score_batch(std::span<const RewardRow> rows) override {
    const std::string id = str("b", next_id_++);
    const ChildProcess::Reply reply =
        pool_.ask(batch_request(id, rows), [&](const std::string& line) { return is_batch_reply(line, id); });
    if (reply.status == ChildProcess::Status::kOk) return read_batch_reply(reply.text, id, rows);
    const bool is_late = reply.status == ChildProcess::Status::kTimeout;
    return fail_rows(rows, is_late ? RewardStatus::kTimeout : RewardStatus::kError, reply.text);
  }

  void restart() override {
    pool_.restart();
    next_id_ = 0;
  }

  int64_t batch_size() const override { return batch_size_; }
  int64_t num_workers() const override { return num_workers_; }

 private:
  WorkerPool pool_;
  int64_t batch_size_, num_workers_;
  std::atomic<int64_t> next_id_ = 0;
};

}  // namespace

void ProgramKeys::describe(FieldVisitor& f) {
  f("timeout_s", timeout_s,
    "Seconds for one request, the start of its program included, 10 when unset; later answers count as "
    "timeout.",
    above(0.0), OnResume::kTaken);
  f("workers", workers, "Programs at a time, 1 when unset.", between(1, 1024), OnResume::kTaken);
  f("batch_size", batch_size, "Completions in one request at most, 8 when unset.", between(1, 65536),
    OnResume::kTaken);
}

std::unique_ptr<Reward> make_program_reward(const std::string& name, const ProgramKeys& keys,
                                            std::vector<std::string> command) {
  if (keys.workers.value_or(1) < 1 || keys.batch_size.value_or(1) < 1)
    throw ConfigError(str("reward ", name, ": workers and batch_size must be at least 1"));
  if (const double timeout_s = keys.timeout_s.value_or(kDefaultTimeoutS);
      !(timeout_s > 0.0 && timeout_s <= kMaxTimeoutS)) {
    throw ConfigError(str("reward ", name, ": timeout_s = ", timeout_s,
                          " is out of range; it must be above 0 and at most ", kMaxTimeoutS));
  }
  return std::make_unique<ProgramReward>(keys, std::move(command));
}

RewardMaker command_reward() {
  return reward_maker<CommandKeys>([](const RewardConfig& config, const CommandKeys& keys) {
    if (keys.command.empty() || keys.command[0].empty()) {
      throw ConfigError(
          str("reward ", config.name, ": type \"command\" needs `command`, the program to run"));
    }
    return make_program_reward(config.name, keys.program, keys.command);
  });
}

}  // namespace cohort
