// The scheduler against a cache that remembers which token each of its rows holds: no tensors, no model.
#include "cohort/sampler/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "cohort/core/random.h"

namespace cohort {
namespace {

/// What a row of the cache holds: position `position` of prompt `prompt`, or of sequence `sequence` behind
/// it.
using Token = std::tuple<int64_t, int64_t, int64_t>;  // prompt, sequence or -1, position

struct Workload {
  std::vector<int64_t> prompt_lengths;
  std::vector<int64_t> group_sizes;
  int64_t max_completion_length;
  std::vector<int64_t> completion_lengths;  // of each sequence
};

Workload random_workload(uint64_t seed) {
  CounterRng random(seed);
  Workload work;
  work.max_completion_length = 1 + random.below(70);
  for (uint64_t p = 0, count = 1 + random.below(7); p < count; ++p) {
    work.prompt_lengths.push_back(1 + random.below(random.below(2) == 0 ? 20 : 90));
    work.group_sizes.push_back(1 + random.below(6));
    for (int64_t g = 0; g < work.group_sizes.back(); ++g) {
      work.completion_lengths.push_back(1 + random.below(work.max_completion_length));
    }
  }
  return work;
}

int64_t least_pages(const Workload& work) {
  int64_t least = 1;
  for (const int64_t length : work.prompt_lengths) {
    least = std::max(least, pages_for(length) + pages_for(length % kPageRows + work.max_completion_length));
  }
  return least;
}

/// Runs a workload to its end and checks every pass.
class Simulation {
 public:
  Simulation(const Workload& work, SchedulerLimits limits)
      : work_(work),
        limits_(limits),
        scheduler_(limits, work.prompt_lengths, work.group_sizes, work.max_completion_length),
        num_tokens_(work.completion_lengths.size()),
        prompt_ends_(work.prompt_lengths.size()),
        ends_(num_tokens_.size()) {}

  void run() {
    while (!testing::Test::HasFatalFailure()) {
      const Schedule schedule = scheduler_.next();
      if (schedule.rows.empty()) break;
      ASSERT_LT(++num_passes_, 20000) << "no end";
      check_pages();
      for (const PageCopy& copy : schedule.copies) this->copy(copy);
      forward(schedule);
      scheduler_.advance(schedule);
      for (const ScheduledRows& rows : schedule.rows) {
        if (rows.reaches_end) draw(rows);
      }
    }
    EXPECT_EQ(num_tokens_, work_.completion_lengths);
    EXPECT_EQ(scheduler_.num_free_pages(), limits_.num_pages);
    EXPECT_LE(num_restarts_, scheduler_.num_preemptions());
  }

  int64_t num_preemptions() const { return scheduler_.num_preemptions(); }
  int64_t num_prompt_rows() const { return num_prompt_rows_; }
  int64_t num_completion_rows() const { return num_completion_rows_; }
  int64_t most_running() const { return most_running_; }

 private:
  int64_t prompt_of(int64_t sequence) const { return scheduler_.numbers().prompt_of(sequence); }
  int64_t prompt_length(int64_t sequence) const { return work_.prompt_lengths[prompt_of(sequence)]; }

  /// Pages of their own belong to one holder; the first pages of a running sequence are its prompt's.
  void check_pages() {
    std::set<int64_t> own;
    const auto add = [&](int64_t page) {
      EXPECT_TRUE(own.insert(page).second) << "page " << page << " has two owners";
      EXPECT_TRUE(page >= 0 && page < limits_.num_pages);
    };
    for (size_t p = 0; p < prompt_ends_.size(); ++p) {
      for (const int64_t page : scheduler_.prompt_pages(p)) add(page);
    }
    int64_t num_running = 0;
    for (size_t i = 0; i < num_tokens_.size(); ++i) {
      const std::vector<int64_t>& pages = scheduler_.sequence_pages(i);
      if (pages.empty()) continue;
      ++num_running;
      const int64_t length = prompt_length(i) + num_tokens_[i], shared = prompt_length(i) / kPageRows;
      EXPECT_EQ(static_cast<int64_t>(pages.size()), pages_for(length));
      const std::vector<int64_t>& of_prompt = scheduler_.prompt_pages(prompt_of(i));
      ASSERT_GE(static_cast<int64_t>(of_prompt.size()), shared);
      for (int64_t k = 0; k < static_cast<int64_t>(pages.size()); ++k) {
        if (k >= shared) {
          add(pages[k]);
        } else {
          EXPECT_EQ(pages[k], of_prompt[k]);
        }
      }
    }
    EXPECT_EQ(static_cast<int64_t>(own.size()), limits_.num_pages - scheduler_.num_free_pages());
    EXPECT_LE(num_running, limits_.max_running);
    most_running_ = std::max(most_running_, num_running);
  }

  void copy(const PageCopy& copy) {
    for (int64_t i = 0; i < copy.num_rows; ++i) {
      ASSERT_TRUE(cache_.count(copy.source_page * kPageRows + i));
      cache_[copy.target_page * kPageRows + i] = cache_[copy.source_page * kPageRows + i];
    }
  }

  Token token(const ScheduledRows& rows, int64_t position) const {
    if (rows.is_prompt) return {rows.index, -1, position};
    const bool in_prompt = position < prompt_length(rows.index);
    return {prompt_of(rows.index), in_prompt ? -1 : rows.index, position};
  }

  /// Writes the rows of a pass, then looks at all the keys that they attend to.
  void forward(const Schedule& schedule) {
    int64_t num_rows = 0;
    for (const ScheduledRows& rows : schedule.rows) {
      note_residence(rows);
      num_rows += rows.count;
      (rows.is_prompt ? num_prompt_rows_ : num_completion_rows_) += rows.count;
      for (int64_t i = rows.first_position; i < rows.first_position + rows.count; ++i)
        cache_[row(rows, i)] = token(rows, i);
    }
    EXPECT_LE(num_rows, limits_.max_rows);
    for (const ScheduledRows& rows : schedule.rows) {
      for (int64_t i = 0; i < rows.first_position + rows.count; ++i) {
        ASSERT_EQ(cache_[row(rows, i)], token(rows, i))
            << (rows.is_prompt ? "prompt " : "sequence ") << rows.index;
      }
    }
  }

  int64_t row(const ScheduledRows& rows, int64_t position) const {
    const auto& pages =
        rows.is_prompt ? scheduler_.prompt_pages(rows.index) : scheduler_.sequence_pages(rows.index);
    return pages.at(position / kPageRows) * kPageRows + position % kPageRows;
  }

  /// Rows follow each other without gap or repetition; only a preemption lets them begin again.
  void note_residence(const ScheduledRows& rows) {
    ASSERT_GT(rows.count, 0);
    int64_t& end = rows.is_prompt ? prompt_ends_[rows.index] : ends_[rows.index];
    const int64_t start = rows.is_prompt ? 0 : prompt_length(rows.index);
    if (end == 0 || rows.first_position != end) {
      EXPECT_EQ(rows.first_position, start);
      num_restarts_ += end != 0;
    }
    end = rows.first_position + rows.count;
    const int64_t length =
        rows.is_prompt ? work_.prompt_lengths[rows.index] : start + num_tokens_[rows.index];
    EXPECT_LE(end, length);
    EXPECT_EQ(rows.reaches_end, end == length);
  }

  void draw(const ScheduledRows& rows) {
    if (!rows.is_prompt) return add_token(rows.index);
    for (int64_t g = 0; g < work_.group_sizes[rows.index]; ++g) {
      const int64_t index = scheduler_.numbers().first(rows.index) + g;
      if (num_tokens_[index] == 0) add_token(index);
    }
  }

  void add_token(int64_t index) {
    scheduler_.append_token(index);
    if (++num_tokens_[index] == work_.completion_lengths[index]) scheduler_.finish(index);
  }

  const Workload& work_;
  SchedulerLimits limits_;
  Scheduler scheduler_;
  std::map<int64_t, Token> cache_;
  std::vector<int64_t> num_tokens_, prompt_ends_, ends_;
  int64_t num_passes_ = 0, num_prompt_rows_ = 0, num_completion_rows_ = 0, most_running_ = 0,
          num_restarts_ = 0;
};

/// Rows that a run takes at least: the last token of a completion is never forwarded.
int64_t completion_rows(const Workload& work) {
  int64_t rows = 0;
  for (const int64_t length : work.completion_lengths) rows += length - 1;
  return rows;
}

TEST(Scheduler, ForwardsEveryTokenOnceWhereThereIsRoom) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Workload work = random_workload(seed);
    Simulation simulation(work, {.num_pages = 1000});
    ASSERT_NO_FATAL_FAILURE(simulation.run());
    EXPECT_EQ(simulation.num_preemptions(), 0);
    EXPECT_EQ(simulation.num_completion_rows(), completion_rows(work));
    EXPECT_EQ(simulation.num_prompt_rows(),
              std::accumulate(work.prompt_lengths.begin(), work.prompt_lengths.end(), int64_t{0}));
  }
}

TEST(Scheduler, EndsWithAnyPageBudget) {
  int64_t num_preempted = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Workload work = random_workload(seed);
    for (const int64_t more : {0, 1, 2, 5, 11}) {
      SCOPED_TRACE(str("seed ", seed, ", pages ", least_pages(work), " + ", more));
      Simulation simulation(work, {.num_pages = least_pages(work) + more});
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
      scaled.num_pages += least_pages(work);
      Simulation simulation(work, scaled);
      ASSERT_NO_FATAL_FAILURE(simulation.run());
    }
  }
}

TEST(Scheduler, RunsGroupsSideBySide) {
  const Workload work{{20, 33, 5}, {8, 10, 6}, 10, std::vector<int64_t>(24, 10)};
  Simulation simulation(work, {.num_pages = 200});
  simulation.run();
  EXPECT_EQ(simulation.most_running(), 24);
  Simulation limited(work, {.num_pages = 200, .max_running = 9});
  limited.run();
  EXPECT_EQ(limited.most_running(), 9);
}

TEST(Scheduler, NamesTheLeastBudget) {
  // 33 tokens take three pages, and a completion one page of its own for position 32 and 17 tokens: two
  // pages.
  EXPECT_NO_THROW(Scheduler({.num_pages = 5}, {33, 4}, {2, 2}, 17));
  try {
    Scheduler({.num_pages = 4}, {4, 33}, {2, 2}, 17);
    FAIL() << "nothing was thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "cache_tokens: 64 tokens of cache do not hold a prompt of 33 with a completion of 17; "
                 "give at least 80");
  }
  // The context ends a completion earlier: 15 tokens then fit beside position 32.
  EXPECT_NO_THROW(Scheduler({.num_pages = 4, .max_positions = 48}, {4, 33}, {2, 2}, 17));
}

TEST(SequenceNumbers, CountThroughAllPrompts) {
  const SequenceNumbers numbers({2, 0, 3});
  EXPECT_EQ(numbers.size(), 5);
  std::vector<int64_t> prompts, samples;
  for (int64_t i = 0; i < 5; ++i) {
    prompts.push_back(numbers.prompt_of(i));
    samples.push_back(numbers.sample_of(i));
  }
  EXPECT_EQ(prompts, (std::vector<int64_t>{0, 0, 2, 2, 2}));
  EXPECT_EQ(samples, (std::vector<int64_t>{0, 1, 0, 1, 2}));
  EXPECT_EQ(numbers.first(2), 2);
  EXPECT_EQ(numbers.end(1), 2);
  EXPECT_EQ(SequenceNumbers({}).size(), 0);
}

TEST(BlockManager, CountsHolders) {
  BlockManager blocks(2);
  const int64_t first = blocks.allocate(), second = blocks.allocate();
  EXPECT_NE(first, second);
  EXPECT_EQ(blocks.num_free(), 0);
  EXPECT_THROW(blocks.allocate(), InternalError);
  blocks.share(first);
  blocks.release(first);
  EXPECT_EQ(blocks.num_free(), 0);
  blocks.release(first);
  EXPECT_EQ(blocks.num_free(), 1);
  EXPECT_THROW(blocks.release(first), InternalError);
  EXPECT_THROW(blocks.share(first), InternalError);
  EXPECT_EQ(blocks.allocate(), first);
}

}  // namespace
}  // namespace cohort
