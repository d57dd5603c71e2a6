#include "libs/jinja/internal/loop.h"

#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/operations.h"

namespace cohort::jinja {
namespace {

/// What was read ahead.
class RestIterator : public Iterator {
 public:
  explicit RestIterator(std::vector<Value> items) : items_(std::move(items)) {}
  std::optional<Value> next(Runtime&) override {
    if (position_ == items_.size()) return std::nullopt;
    return items_[position_++];
  }

 private:
  std::vector<Value> items_;
  size_t position_ = 0;
};

const Value& peek(Runtime& runtime, LoopState& state) {
  if (!state.after) state.after = state.iterator->next(runtime).value_or(Value());
  return *state.after;
}

int64_t loop_length(Runtime& runtime, LoopState& state) {
  if (state.length) return *state.length;
  if (has_length(state.source)) return *(state.length = length_of(runtime, state.source));
  std::vector<Value> rest;
  while (const std::optional<Value> item = state.iterator->next(runtime)) {
    runtime.step();
    runtime.allocate(sizeof(Value));
    rest.push_back(*item);
  }
  state.length =
      static_cast<int64_t>(rest.size()) + state.index0 + 1 + (state.after && !state.after->is_missing());
  state.iterator = std::make_shared<RestIterator>(std::move(rest));
  return *state.length;
}

/// loop.cycle and loop.changed.
class LoopMethod : public Callable {
 public:
  using Body = Value (*)(Runtime& runtime, LoopState& state, const Arguments& arguments);
  LoopMethod(LoopState& state, Body body) : state_(state), body_(body) {}
  Value call(Runtime& runtime, const Arguments& arguments) const override {
    return body_(runtime, state_, arguments);
  }

 private:
  LoopState& state_;
  Body body_;
};

Value cycle(Runtime&, LoopState& state, const Arguments& arguments) {
  if (arguments.positional.empty()) throw_type_error("no items for cycling given");
  return arguments.positional[state.index0 % arguments.positional.size()];
}

Value changed(Runtime& runtime, LoopState& state, const Arguments& arguments) {
  const Value values = runtime.tuple(arguments.positional);
  if (!state.last_changed.is_missing() && equal(runtime, state.last_changed, values)) return false;
  state.last_changed = values;
  return true;
}

class Loop : public Callable {
 public:
  Loop(Interpreter& interpreter, LoopState& state) : interpreter_(interpreter), state_(state) {}

  Value call(Runtime&, const Arguments& arguments) const override {
    const auto a = bind("loop()", arguments, {{"iterable"}});
    if (state_.recursive == nullptr)
      throw_type_error("The loop must have the 'recursive' marker to be called recursively.");
    return interpreter_.run_recursive(*state_.recursive, state_.outer, a[0], state_.depth0 + 1);
  }

  Value attribute(Runtime& runtime, std::string_view name) const override {
    LoopState& s = state_;
    if (name == "index0") return s.index0;
    if (name == "index") return s.index0 + 1;
    if (name == "first") return s.index0 == 0;
    if (name == "last") return peek(runtime, s).is_missing();
    if (name == "length") return loop_length(runtime, s);
    if (name == "revindex") return loop_length(runtime, s) - s.index0;
    if (name == "revindex0") return loop_length(runtime, s) - s.index0 - 1;
    if (name == "depth") return s.depth0 + 1;
    if (name == "depth0") return s.depth0;
    if (name == "previtem") return s.index0 == 0 ? runtime.undefined("there is no previous item") : s.before;
    if (name == "nextitem") {
      const Value& next = peek(runtime, s);
      return next.is_missing() ? runtime.undefined("there is no next item") : next;
    }
    if (name == "cycle") return method(cycle);
    if (name == "changed") return method(changed);
    return {};
  }

 private:
  Value method(LoopMethod::Body body) const {
    return std::shared_ptr<const Callable>(std::make_shared<LoopMethod>(state_, body));
  }

  Interpreter& interpreter_;
  LoopState& state_;
};

}  // namespace

std::optional<Value> advance(Runtime& runtime, LoopState& state) {
  std::optional<Value> item;
  if (state.after) {
    if (!state.after->is_missing()) item = *state.after;
    state.after.reset();
  } else {
    item = state.iterator->next(runtime);
  }
  if (!item) return std::nullopt;
  ++state.index0;
  state.before = state.current;
  state.current = *item;
  return item;
}

Value make_loop(Interpreter& interpreter, LoopState& state) {
  return std::shared_ptr<const Callable>(std::make_shared<Loop>(interpreter, state));
}

}  // namespace cohort::jinja
