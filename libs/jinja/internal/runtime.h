// What one rendering owns: its budgets, its clock and the objects that a template can change. Whatever a
// template makes goes through here, so that no template can take more time or memory than it was given.
#pragma once

#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libs/jinja/internal/value.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {

class Runtime {
 public:
  Runtime(const Limits& limits, const std::tm& now) : limits_(limits), now_(now) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Each throws TemplateError when the budget is spent.
  void step(int64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps) throw_spent("steps", limits_.steps);
  }
  void look_through(int64_t bytes) { step(bytes / 64 + 1); }
  void allocate(int64_t bytes);
  /// The memory of `count` items, which may be absurdly many.
  void allocate_items(int64_t count, int64_t bytes_each);

  Value text(std::string utf8, bool markup = false);
  Value list(std::vector<Value> items);
  Value tuple(std::vector<Value> items);
  Value dict(Dict dict);
  Value undefined(std::string message);
  Value iterator(std::unique_ptr<Iterator> iterator);
  Value make_namespace();
  const std::tm& now() const { return now_; }

  /// One level of evaluation; throws TemplateError when there are too many.
  class Level {
   public:
    explicit Level(Runtime& runtime) : runtime_(runtime) {
      if (++runtime_.depth_ > runtime_.limits_.depth) {
        --runtime_.depth_;
        runtime_.throw_spent("nested evaluations", runtime_.limits_.depth);
      }
    }
    ~Level() { --runtime_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Runtime& runtime_;
  };

 private:
  [[noreturn]] void throw_spent(const char* what, int64_t limit) const;

  Limits limits_;
  std::tm now_;
  int64_t steps_ = 0;
  int64_t bytes_ = 0;
  int depth_ = 0;
  std::deque<Namespace> namespaces_;
};

/// Levels of containers that a value may have: more would overflow the stack of code that walks it.
constexpr int kMaxContainerDepth = 300;

/// 0 for what holds no other values. A namespace counts as one level, whatever it holds.
int container_depth(const Value& value);

/// Throws TemplateError when `depth` is more than kMaxContainerDepth.
void check_depth(int depth);

}  // namespace cohort::jinja
