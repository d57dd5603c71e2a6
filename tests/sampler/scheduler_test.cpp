// The scheduler against a cache that remembers which text each of its rows ends: no tensors, no model.
#include "cohort/sampler/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

constexpr int32_t kNumIds = 3;  // small, so that texts often begin alike

/// A completion that the test follows.
struct Sequence {
  int64_t index = -1;             ///< in the scheduler
  std::vector<int32_t> prompt;    ///< its tokens
  std::vector<int32_t> tokens{};  ///< of the completion
  int64_t length = 0;             ///< at which it ends
  bool is_held = false;
};

/// What happens between the passes of a simulation.
struct Events {
  int64_t num_sequences = 0;  ///< that are added over time
  bool holds = false;         ///< some are held at their end, and then extended, forked or removed
  bool cancels = false;
  bool drops_cache = false;
};

/// Adds sequences to a scheduler, runs them to their ends and checks every pass.
class Simulation {
 public:
  Simulation(SchedulerLimits limits, int64_t max_completion_length, uint64_t seed)
      : limits_(limits), max_length_(max_completion_length), random_(seed), scheduler_(limits) {}

  void add(const std::vector<int32_t>& prompt, int64_t length, int64_t owner = -1) {
    sequences_.push_back({.index = scheduler_.add(prompt, owner), .prompt = prompt, .length = length});
  }

  /// Runs until all sequences have ended. `prompts` are those that later sequences have.
  void run(const Events& events = {}, const std::vector<std::vector<int32_t>>& prompts = {}) {
    int64_t left = events.num_sequences;
    while (!testing::Test::HasFatalFailure()) {
      ASSERT_LT(++num_steps_, 20000) << "no end";
      if (left > 0 && random_.below(3) == 0) {
        add(prompts[random_.below(prompts.size())], 1 + random_.below(max_length_),
            random_.below(8) == 0 ? left : -1);
        --left;
      }
      if (events.holds) change_held();
      if (events.cancels && random_.below(20) == 0 && !sequences_.empty())
        remove(random_.below(sequences_.size()));
      if (events.drops_cache && random_.below(30) == 0) {
        scheduler_.drop_cache();
        rows_.clear();
      }
      holds_ = events.holds;
      if (!pass() && left == 0 && is_done()) break;
    }
    const auto num_left = scheduler_.num_free_pages() + scheduler_.num_cached_pages();
    EXPECT_EQ(num_left, limits_.num_pages);
  }

  const Scheduler& scheduler() const { return scheduler_; }
  int64_t num_preemptions() const { return scheduler_.num_preemptions(); }
  int64_t num_prompt_rows() const { return num_prompt_rows_; }
  int64_t num_completion_rows() const { return num_completion_rows_; }
  int64_t most_running() const { return most_running_; }
  int64_t num_extended() const { return num_extended_; }
  int64_t num_forked() const { return num_forked_; }

 private:
  bool is_done() {
    if (sequences_.empty()) return true;
    // What is held waits for ever.
    for (size_t i = sequences_.size(); i-- > 0;) {
      if (sequences_[i].is_held) remove(i);
    }
    return sequences_.empty();
  }

  Sequence& at(int64_t index) {
    return *std::ranges::find_if(sequences_, [&](const Sequence& s) { return s.index == index; });
  }

  static std::vector<int32_t> text_of(const Sequence& s) {
    std::vector<int32_t> text = s.prompt;
    text.insert(text.end(), s.tokens.begin(), s.tokens.end());
    return text;
  }

  /// What a row of position i holds: the text up to there, as a number for each.
  static std::vector<uint64_t> contexts_of(const std::vector<int32_t>& text) {
    std::vector<uint64_t> contexts;
    uint64_t context = 1;
    for (const int32_t id : text) contexts.push_back(context = context * 1099511628211u + id + 1);
    return contexts;
  }

  bool pass() {
    const Schedule schedule = scheduler_.next();
    if (schedule.rows.empty()) return false;
    for (const PageCopy& copy : schedule.copies) {
      for (int64_t i = 0; i < copy.num_rows; ++i)
        rows_[copy.target_page * kPageRows + i] = rows_.at(copy.source_page * kPageRows + i);
    }
    check_owners(schedule);
    forward(schedule);
    scheduler_.advance(schedule);
    for (const ScheduledRows& rows : schedule.rows) {
      if (rows.reaches_end) draw(rows);
    }
    return true;
  }

  const std::vector<int64_t>& pages_of(const ScheduledRows& rows) const {
    return rows.is_prompt ? scheduler_.prompt_pages(rows.index) : scheduler_.sequence_pages(rows.index);
  }

  /// Nobody else lists a page that is written, and a running sequence has all its pages.
  void check_owners(const Schedule& schedule) {
    std::map<int64_t, int64_t> num_lists;
    std::set<int64_t> prompts;
    for (const Sequence& s : sequences_) {
      for (const int64_t page : scheduler_.sequence_pages(s.index)) ++num_lists[page];
      prompts.insert(scheduler_.prompt_of(s.index));
    }
    for (const int64_t prompt : prompts) {
      for (const int64_t page : scheduler_.prompt_pages(prompt)) ++num_lists[page];
    }
    int64_t num_rows = 0, num_running = 0;
    for (const ScheduledRows& rows : schedule.rows) {
      ASSERT_GT(rows.count, 0);
      num_rows += rows.count;
      num_running += !rows.is_prompt;
      for (int64_t i = rows.first_position; i < rows.first_position + rows.count; ++i)
        ASSERT_EQ(num_lists[pages_of(rows).at(i / kPageRows)], 1) << "written by several";
    }
    for (const auto& [page, count] : num_lists) ASSERT_TRUE(page >= 0 && page < limits_.num_pages);
    EXPECT_LE(num_rows, limits_.max_rows);
    EXPECT_LE(num_running, limits_.max_running);
    most_running_ = std::max(most_running_, num_running);
  }

  /// Writes the rows of a pass, then looks at all the keys that they attend to.
  void forward(const Schedule& schedule) {
    std::vector<std::vector<uint64_t>> contexts;
    for (const ScheduledRows& rows : schedule.rows) {
      const std::vector<int32_t> text =
          rows.is_prompt ? scheduler_.prompt_ids(rows.index) : text_of(at(rows.index));
      contexts.push_back(contexts_of(text));
      const int64_t end = rows.first_position + rows.count;
      EXPECT_EQ(rows.reaches_end, end == std::ssize(text));
      (rows.is_prompt ? num_prompt_rows_ : num_completion_rows_) += rows.count;
      for (int64_t i = rows.first_position; i < end; ++i)
        rows_[pages_of(rows)[i / kPageRows] * kPageRows + i % kPageRows] = contexts.back().at(i);
    }
    for (size_t r = 0; r < schedule.rows.size(); ++r) {
      const ScheduledRows& rows = schedule.rows[r];
      for (int64_t i = 0; i < rows.first_position + rows.count; ++i) {
        const int64_t row = pages_of(rows)[i / kPageRows] * kPageRows + i % kPageRows;
        ASSERT_TRUE(rows_.contains(row));
        ASSERT_EQ(rows_[row], contexts[r][i])
            << (rows.is_prompt ? "prompt " : "sequence ") << rows.index << " position " << i;
      }
    }
  }

  void draw(const ScheduledRows& rows) {
    if (!rows.is_prompt) return add_token(rows.index);
    const std::vector<int64_t> waiting = scheduler_.sequences_of(rows.index);
    for (const int64_t index : waiting) {
      if (at(index).tokens.empty()) add_token(index);
    }
  }

  void add_token(int64_t index) {
    Sequence& s = at(index);
    s.tokens.push_back(random_.below(kNumIds));
    scheduler_.append_tokens(index);
    if (std::ssize(s.tokens) < s.length) return;
    if (holds_ && random_.below(2) == 0) {
      s.is_held = true;
      scheduler_.hold(index);
    } else {
      remove(&s - sequences_.data());
    }
  }

  /// With or without its completion in the prefix cache.
  void remove(size_t place) {
    const Sequence s = sequences_[place];
    if (random_.below(2) == 0) {
      scheduler_.remove(s.index, s.tokens);
    } else {
      scheduler_.remove(s.index);
    }
    sequences_.erase(sequences_.begin() + place);
  }

  /// Extends, forks or removes one that is held.
  void change_held() {
    for (size_t i = 0; i < sequences_.size(); ++i) {
      if (!sequences_[i].is_held || random_.below(4) != 0) continue;
      const int64_t room = max_length_ - std::ssize(sequences_[i].tokens);
      if (room >= 2 && random_.below(2) == 0) {
        extend(sequences_[i], 1 + random_.below(room - 1));
      } else if (num_forked_ < 40) {
        fork(sequences_[i], random_.below(std::min(std::ssize(sequences_[i].tokens), max_length_ - 1) + 1));
      } else {
        remove(i);
      }
      return;
    }
  }

  void extend(Sequence& s, int64_t count) {
    for (int64_t i = 0; i < count; ++i) s.tokens.push_back(random_.below(kNumIds));
    scheduler_.append_tokens(s.index, count);
    scheduler_.resume(s.index);
    s.is_held = false;
    s.length = std::ssize(s.tokens) + 1 + random_.below(max_length_ - std::ssize(s.tokens));
    ++num_extended_;
  }

  void fork(const Sequence source, int64_t num_tokens) {
    Sequence s{.index = scheduler_.fork(source.index, num_tokens), .prompt = source.prompt};
    s.tokens.assign(source.tokens.begin(), source.tokens.begin() + num_tokens);
    s.length = std::min(max_length_, num_tokens + 1 + static_cast<int64_t>(random_.below(20)));
    sequences_.push_back(std::move(s));
    ++num_forked_;
  }

  SchedulerLimits limits_;
  int64_t max_length_;
  CounterRng random_;
  Scheduler scheduler_;
  std::vector<Sequence> sequences_;
  std::map<int64_t, uint64_t> rows_;  // what each row of the cache holds
  bool holds_ = false;
  int64_t num_steps_ = 0, num_prompt_rows_ = 0, num_completion_rows_ = 0, most_running_ = 0;
  int64_t num_extended_ = 0, num_forked_ = 0;
};

/// Prompts with groups, all there at the start, as a rollout has them.
struct Workload {
  std::vector<std::vector<int32_t>> prompts;
  std::vector<int64_t> group_sizes;
  int64_t max_completion_length = 1;
  std::vector<int64_t> completion_lengths;  // of each sequence

  int64_t least_pages() const {
    int64_t least = 1;
    for (const auto& prompt : prompts)
      least = std::max(least, pages_for_group(std::ssize(prompt), 1, max_completion_length));
    return least;
  }

  /// Rows that it takes at least: the last token of a completion is never forwarded.
  int64_t completion_rows() const {
    return std::accumulate(completion_lengths.begin(), completion_lengths.end(), int64_t{0}) -
           std::ssize(completion_lengths);
  }

  int64_t prompt_rows() const {
    int64_t rows = 0;
    for (const auto& prompt : prompts) rows += std::ssize(prompt);
    return rows;
  }
};

/// A prompt of this length that begins like no other.
std::vector<int32_t> distinct_prompt(int64_t number, int64_t length) {
  std::vector<int32_t> ids(length);
  for (int64_t i = 0; i < length; ++i) ids[i] = static_cast<int32_t>((i == 0 ? 100 + number : i) % 1000);
  return ids;
}

Workload random_workload(uint64_t seed) {
  CounterRng random(seed);
  Workload work;
  work.max_completion_length = 1 + random.below(70);
  for (uint64_t p = 0, count = 1 + random.below(7); p < count; ++p) {
    work.prompts.push_back(distinct_prompt(p, 1 + random.below(random.below(2) == 0 ? 20 : 90)));
    work.group_sizes.push_back(1 + random.below(6));
    for (int64_t g = 0; g < work.group_sizes.back(); ++g)
      work.completion_lengths.push_back(1 + random.below(work.max_completion_length));
  }
  return work;
}

Simulation simulation_of(const Workload& work, SchedulerLimits limits) {
  Simulation simulation(limits, work.max_completion_length, 7);
  size_t sequence = 0;
  for (size_t p = 0; p < work.prompts.size(); ++p) {
    for (int64_t g = 0; g < work.group_sizes[p]; ++g)
      simulation.add(work.prompts[p], work.completion_lengths[sequence++]);
  }
  return simulation;
}

TEST(Scheduler, ForwardsEveryTokenOnceWhereThereIsRoom) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Workload work = random_workload(seed);
    Simulation simulation = simulation_of(work, {.num_pages = 1000});
    ASSERT_NO_FATAL_FAILURE(simulation.run());
    EXPECT_EQ(simulation.num_preemptions(), 0);
    EXPECT_EQ(simulation.num_completion_rows(), work.completion_rows());
    EXPECT_EQ(simulation.num_prompt_rows(), work.prompt_rows());
  }
}

TEST(Scheduler, EndsWithAnyPageBudget) {
  int64_t num_preempted = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Workload work = random_workload(seed);
    for (const int64_t more : {0, 1, 2, 5, 11}) {
      SCOPED_TRACE(str("seed ", seed, ", pages ", work.least_pages(), " + ", more));
      Simulation simulation = simulation_of(work, {.num_pages = work.least_pages() + more});
      ASSERT_NO_FATAL_FAILURE(simulation.run());
      num_preempted += simulation.num_preemptions() > 0;
    }
  }
  EXPECT_GT(num_preempted, 100) << "the budgets are not small";
}

TEST(Scheduler, RespectsItsLimits) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Workload work = random_workload(seed);
    for (const SchedulerLimits limits :
         {SchedulerLimits{.num_pages = 0, .max_running = 3, .max_rows = 7},
          SchedulerLimits{.num_pages = 3, .max_running = 2, .max_rows = 1},
          SchedulerLimits{.num_pages = 6, .max_running = 100, .max_rows = 2},
          SchedulerLimits{.num_pages = 30, .max_running = 1, .max_rows = 33}}) {
      SCOPED_TRACE(str("seed ", seed, ", max_running ", limits.max_running, ", max_rows ", limits.max_rows));
      SchedulerLimits scaled = limits;
      scaled.num_pages += work.least_pages();
      Simulation simulation = simulation_of(work, scaled);
      ASSERT_NO_FATAL_FAILURE(simulation.run());
    }
  }
}

TEST(Scheduler, RunsGroupsSideBySide) {
  const Workload work{{distinct_prompt(0, 20), distinct_prompt(1, 33), distinct_prompt(2, 5)},
                      {8, 10, 6},
                      10,
                      std::vector<int64_t>(24, 10)};
  Simulation simulation = simulation_of(work, {.num_pages = 200});
  simulation.run();
  EXPECT_EQ(simulation.most_running(), 24);
  Simulation limited = simulation_of(work, {.num_pages = 200, .max_running = 9});
  limited.run();
  EXPECT_EQ(limited.most_running(), 9);
}

/// Prompts of which some begin alike.
std::vector<std::vector<int32_t>> related_prompts(CounterRng& random) {
  std::vector<std::vector<int32_t>> prompts;
  for (uint64_t p = 0, count = 2 + random.below(5); p < count; ++p) {
    std::vector<int32_t> prompt(1 + random.below(70));
    const auto same = random.below(prompt.size() + 1);
    for (size_t i = 0; i < prompt.size(); ++i)
      prompt[i] = i < same ? 1 : static_cast<int32_t>(random.below(kNumIds));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

int64_t pages_for_longest(const std::vector<std::vector<int32_t>>& prompts, int64_t max_completion_length) {
  Workload work{prompts, {}, max_completion_length, {}};
  return work.least_pages();
}

// Requests come, are held, extended, forked and cancelled at any time, and the weights change. Every row that
// is read holds what its text says.
TEST(Scheduler, ServesRequestsThatComeAtAnyTime) {
  int64_t num_extended = 0, num_forked = 0, num_preempted = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    CounterRng random(1000 + seed);
    const auto prompts = related_prompts(random);
    const auto max_length = static_cast<int64_t>(2 + random.below(60));
    const int64_t pages = pages_for_longest(prompts, max_length);
    for (const int64_t more : {0, 1, 3, 8, 1000}) {
      SCOPED_TRACE(str("seed ", seed, ", pages ", pages, " + ", more));
      const SchedulerLimits limits{.num_pages = pages + more,
                                   .max_running = static_cast<int64_t>(1 + random.below(12)),
                                   .max_rows = static_cast<int64_t>(1 + random.below(100))};
      Simulation simulation(limits, max_length, seed);
      ASSERT_NO_FATAL_FAILURE(simulation.run({.num_sequences = 12,
                                              .holds = seed % 2 == 0,
                                              .cancels = seed % 3 == 0,
                                              .drops_cache = seed % 5 == 0},
                                             prompts));
      num_extended += simulation.num_extended();
      num_forked += simulation.num_forked();
      num_preempted += simulation.num_preemptions() > 0;
    }
  }
  EXPECT_GT(num_extended, 500);
  EXPECT_GT(num_forked, 500);
  EXPECT_GT(num_preempted, 200);
}

TEST(Scheduler, ForwardsNoPageOfAKnownPromptAgain) {
  Simulation simulation({.num_pages = 100}, 8, 1);
  const std::vector<int32_t> prompt = distinct_prompt(0, 50);
  simulation.add(prompt, 4);
  simulation.run();
  EXPECT_EQ(simulation.num_prompt_rows(), 50);
  EXPECT_EQ(simulation.scheduler().num_cached_pages(), 3);
  simulation.add(prompt, 4);
  simulation.run();
  EXPECT_EQ(simulation.num_prompt_rows(), 52) << "three pages of it are known";
  // A prompt that is to be forwarded whole is.
  simulation.add(prompt, 4, /*owner=*/0);
  simulation.run();
  EXPECT_EQ(simulation.num_prompt_rows(), 102);
}

TEST(Scheduler, NamesTheLeastBudget) {
  // 33 tokens take three pages, and a completion one page of its own for position 32 and 17 tokens: two
  // pages.
  EXPECT_NO_THROW(Scheduler({.num_pages = 5}).check_fits(33, 17));
  try {
    Scheduler({.num_pages = 4}).check_fits(33, 17);
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "cache_tokens: 64 tokens of cache do not hold a prompt of 33 with a completion of 17; "
                 "give at least 80");
  }
  // The context ends a completion earlier: 15 tokens then fit beside position 32.
  EXPECT_NO_THROW(Scheduler({.num_pages = 4, .max_positions = 48}).check_fits(33, 17));
}

}  // namespace
}  // namespace cohort
