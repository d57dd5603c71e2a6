// The rows of a data set as prompts.
#pragma once

#include <utility>
#include <vector>

#include "cohort/rl/prompt_source.h"
#include "cohort/tasks/row_cursor.h"

namespace cohort {

class DatasetSource : public PromptSource {
 public:
  /// `dataset` must outlive this; `accepts_changes`: see RowCursor.
  DatasetSource(const Dataset& dataset, TextFormat format, uint64_t seed, bool shuffles,
                bool accepts_changes = false)
      : cursor_(dataset, seed, shuffles, accepts_changes), format_(std::move(format)) {}

  std::vector<Prompt> next(int64_t count) override {
    std::vector<Prompt> prompts;
    for (Row& row : cursor_.next(count)) prompts.push_back(to_prompt(std::move(row), format_));
    return prompts;
  }
  double epoch() const override { return cursor_.epoch(); }
  Json save() const override { return cursor_.save(); }
  void load(const Json& state) override { cursor_.load(state); }

 private:
  RowCursor cursor_;
  TextFormat format_;
};

}  // namespace cohort
