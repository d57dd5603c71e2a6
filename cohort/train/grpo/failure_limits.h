// Ends a run whose rewards fail too often: what is masked teaches nothing, and what is left may be a biased
// sample. Counted for each reward function over its newest cells; cells that a run has not seen yet count as
// good, so that one bad cell of a small step ends nothing. A reward that fails on every cell of the first two
// steps, and on at least 16, is broken outright and ends the run there; unless max_failed_share is 1. So does
// a start in which every reward skips every completion.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/json.h"
#include "cohort/rl/batch.h"

namespace cohort {

struct FailureLimitsConfig {
  double max_sandbox_error_share = 1.0;
  double max_failed_share = 1.0;  ///< of all statuses but ok and skipped; 1 never ends a run
  int64_t window = 1;             ///< cells; the steps that hold at least so many, the newest ones
};

class FailureLimits {
 public:
  /// Only rewards with `counts` are looked at; for each name one.
  FailureLimits(const FailureLimitsConfig& config, std::vector<std::string> names, std::vector<bool> counts);

  /// Takes the cells of a step, untrained samples included. Returns why the run must end, if it must, and
  /// then forgets all cells: a run that goes on after mending starts with none.
  std::optional<std::string> observe(const Batch& step);

  Json save() const;
  void load(const Json& state);

 private:
  struct Counts {
    int64_t num_cells = 0;  // that are not skipped
    int64_t num_failed = 0;
    int64_t num_sandbox_errors = 0;

    void add(const Counts& other, int64_t sign);
  };
  struct Window {
    std::deque<Counts> steps;
    Counts total;
  };

  void push(Window& window, const Counts& step) const;
  std::optional<std::string> find_excess(size_t reward, const Batch& step) const;
  std::optional<std::string> find_outright_failure(size_t reward, const Batch& step) const;
  std::optional<std::string> find_unjudged_start(const Batch& step);

  FailureLimitsConfig config_;
  std::vector<std::string> names_;
  std::vector<bool> counts_;
  std::vector<Window> windows_;  // one per reward
  bool is_judged_ = false;       // whether any reward that counts judged a completion yet
  int64_t num_unjudged_ = 0;     // completions before that
  int64_t num_unjudged_steps_ = 0;
};

}  // namespace cohort
