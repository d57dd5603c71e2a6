// Rewards that are programs: `command`, and `python` by a program of ours.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/rewards/reward.h"

namespace cohort {

/// The keys of rewards that are programs.
struct ProgramKeys {
  std::optional<double> timeout_s;
  std::optional<int64_t> workers;
  std::optional<int64_t> batch_size;

  void describe(FieldVisitor& f);
};

/// The reward `name` that `workers` copies of `command` give, a request of batch_protocol.h at a time.
std::unique_ptr<Reward> make_program_reward(const std::string& name, const ProgramKeys& keys,
                                            std::vector<std::string> command);

}  // namespace cohort
