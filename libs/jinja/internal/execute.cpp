// The interpreter's statements.
#include "libs/common/str.h"
#include "libs/common/utf8.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/interpreter.h"
#include "libs/jinja/internal/loop.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

using Kind = Statement::Kind;

/// The items of a loop for which its condition holds.
class ConditionIterator : public Iterator {
 public:
  ConditionIterator(Interpreter& interpreter, const Statement& loop, Activation& activation,
                    std::shared_ptr<Iterator> source)
      : interpreter_(interpreter), loop_(loop), activation_(activation), source_(std::move(source)) {
    depth = source_->depth + 1;
  }
  std::optional<Value> next(Runtime& runtime) override {
    while (std::optional<Value> item = source_->next(runtime)) {
      runtime.step();
      if (interpreter_.condition_holds(loop_, activation_, *item)) return item;
    }
    return std::nullopt;
  }

 private:
  Interpreter& interpreter_;
  const Statement& loop_;
  Activation& activation_;
  std::shared_ptr<Iterator> source_;
};

}  // namespace

std::string Interpreter::run() {
  std::optional<Activation> local;
  Activation& activation = new_activation(tree_.root, nullptr, local);
  enter(tree_.root.scope, activation);
  Frame frame{activation, output_};
  execute(tree_.root.body, frame);
  return std::move(output_);
}

void Interpreter::write(Frame& frame, std::string_view text) {
  runtime_.allocate(static_cast<int64_t>(text.size()));
  frame.out += text;
  if (&frame.out != &output_) return;
  output_length_ += count_code_points(text);
  if (static_cast<int64_t>(output_.size()) > max_output_)
    throw TemplateError(str("the template writes more than ", max_output_, " bytes, which it may not"));
}

Interpreter::Flow Interpreter::execute(const Block& block, Frame& frame) {
  for (const auto& statement : block) {
    const Flow flow = execute(*statement, frame);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute(const Statement& statement, Frame& frame) {
  runtime_.step();
  const Runtime::Level level(runtime_);
  switch (statement.kind) {
    case Kind::kOutput:
      for (const ExpressionPtr& expression : statement.expressions) {
        const Value value = evaluate(*expression, frame.activation);
        const Text* text = value.get<Text>();
        write(frame, text != nullptr ? std::string_view(text->utf8) : to_text(runtime_, value));
      }
      break;
    case Kind::kIf:
      return execute_if(statement, frame);
    case Kind::kFor:
      return execute_for(statement, frame);
    case Kind::kSet:
      require_namespaces(*statement.targets[0], frame.activation);
      assign(*statement.targets[0], evaluate(*statement.expressions[0], frame.activation), frame.activation);
      break;
    case Kind::kSetBlock:
      execute_set_block(statement, frame);
      break;
    case Kind::kMacro:
      assign(*statement.targets[0], make_macro(*statement.function, frame.activation), frame.activation);
      break;
    case Kind::kCall:
      execute_call(statement, frame);
      break;
    case Kind::kGeneration:
      execute_generation(statement, frame);
      break;
    case Kind::kFilter:
      execute_filter_block(statement, frame);
      break;
    case Kind::kWith:
      return execute_with(statement, frame);
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::execute_if(const Statement& statement, Frame& frame) {
  size_t branch = 0;
  while (branch < statement.expressions.size() &&
         !truth(evaluate(*statement.expressions[branch], frame.activation)))
    ++branch;
  return execute(statement.blocks[branch], frame);
}

Interpreter::Flow Interpreter::execute_for(const Statement& statement, Frame& frame) {
  const Value source = evaluate(*statement.expressions[0], frame.activation);
  if (!statement.recursive) return execute_loop(statement, frame, source, 0);
  write(frame, to_text(runtime_, run_recursive(statement, &frame.activation, source, 0)));
  return Flow::kNext;
}

Value Interpreter::run_recursive(const Statement& loop, Activation* outer, const Value& source,
                                 int64_t depth0) {
  const Runtime::Level level(runtime_);
  std::optional<Activation> local;
  Activation& activation = new_activation(*loop.function, outer, local);
  std::string text;
  Frame frame{activation, text};
  execute_loop(loop, frame, source, depth0);
  return runtime_.text(std::move(text));
}

Interpreter::Flow Interpreter::execute_loop(const Statement& statement, Frame& frame, const Value& source,
                                            int64_t depth0) {
  Activation& activation = frame.activation;
  runtime_.allocate(sizeof(LoopState));
  LoopState& state = loops_.emplace_back();
  state.source = source;
  state.depth0 = depth0;
  state.iterator = iterate(runtime_, source);
  if (statement.recursive) {
    state.recursive = &statement;
    state.outer = activation.outer;
  }
  if (statement.expressions[1]) {
    enter(statement.scopes[2], activation);
    state.iterator = std::make_shared<ConditionIterator>(*this, statement, activation, state.iterator);
    state.source = Value();
    check_depth(state.iterator->depth);
  }
  const Value loop = statement.loop_slot < 0 ? Value() : make_loop(*this, state);
  bool ran_through = false;
  while (const std::optional<Value> item = advance(runtime_, state)) {
    runtime_.step();
    if (statement.loop_slot >= 0) activation.slots[statement.loop_slot] = loop;
    assign(*statement.targets[0], *item, activation);
    enter(statement.scopes[0], activation);
    const Flow flow = execute(statement.blocks[0], frame);
    if (flow == Flow::kBreak) break;
    ran_through = ran_through || flow == Flow::kNext;
  }
  leave(statement.scopes[0], activation);
  if (ran_through || statement.blocks[1].empty()) return Flow::kNext;
  enter(statement.scopes[1], activation);
  const Flow flow = execute(statement.blocks[1], frame);
  leave(statement.scopes[1], activation);
  return flow;
}

bool Interpreter::condition_holds(const Statement& loop, Activation& activation, Value& item) {
  const Expression& target = *loop.targets[1];
  assign(target, item, activation);
  if (!truth(evaluate(*loop.expressions[1], activation))) return false;
  // The condition's function hands on what it bound, so that a list of two items becomes a tuple.
  item = evaluate(target, activation);
  return true;
}

void Interpreter::execute_set_block(const Statement& statement, Frame& frame) {
  require_namespaces(*statement.targets[0], frame.activation);
  enter(statement.scopes[0], frame.activation);
  std::string text;
  Frame inner{frame.activation, text};
  execute(statement.blocks[0], inner);
  Value value = runtime_.text(std::move(text));
  const ExpressionPtr& filter = statement.expressions[0];
  if (filter) value = evaluate_block_filter(*filter, value, frame.activation);
  assign(*statement.targets[0], value, frame.activation);
  leave(statement.scopes[0], frame.activation);
}

void Interpreter::execute_filter_block(const Statement& statement, Frame& frame) {
  enter(statement.scopes[0], frame.activation);
  std::string text;
  Frame inner{frame.activation, text};
  execute(statement.blocks[0], inner);
  const Value value =
      evaluate_block_filter(*statement.expressions[0], runtime_.text(std::move(text)), frame.activation);
  write(frame, text_argument(value, "{% filter %}"));
  leave(statement.scopes[0], frame.activation);
}

Value Interpreter::evaluate_block_filter(const Expression& filter, const Value& text,
                                         Activation& activation) {
  const Runtime::Level level(runtime_);
  const ExpressionPtr& inner = filter.operands[0];
  return evaluate_filter(filter, inner ? evaluate_block_filter(*inner, text, activation) : text, activation);
}

void Interpreter::execute_call(const Statement& statement, Frame& frame) {
  const Value caller = make_macro(*statement.function, frame.activation);
  const Value result = evaluate_call(*statement.expressions[0], frame.activation, &caller);
  write(frame, text_argument(result, "{% call %}"));
}

void Interpreter::execute_generation(const Statement& statement, Frame& frame) {
  const Value text = invoke(*statement.function, &frame.activation, {});
  // Where the text will lie if it is written next; inside a macro Jinja does not know better.
  generated_.push_back({output_length_, output_length_ + text.get<Text>()->length});
  write(frame, text.get<Text>()->utf8);
}

Interpreter::Flow Interpreter::execute_with(const Statement& statement, Frame& frame) {
  enter(statement.scopes[0], frame.activation);
  for (size_t i = 0; i < statement.targets.size(); ++i)
    assign(*statement.targets[i], evaluate(*statement.expressions[i], frame.activation), frame.activation);
  const Flow flow = execute(statement.blocks[0], frame);
  leave(statement.scopes[0], frame.activation);
  return flow;
}

}  // namespace cohort::jinja
