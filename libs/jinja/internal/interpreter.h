// Runs a parsed template: statements write text, expressions give values. Scopes, loops and macros follow the
// Python code that Jinja's compiler makes, because templates depend on its corners.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "libs/jinja/internal/ast.h"
#include "libs/jinja/internal/runtime.h"

namespace cohort::jinja {

/// The variables of one call of a function.
struct Activation {
  std::vector<Value> slots;
  Activation* outer = nullptr;
};

/// The state of one loop, which the template sees as `loop`.
struct LoopState {
  Value source;
  std::shared_ptr<Iterator> iterator;
  int64_t index0 = -1;
  int64_t depth0 = 0;
  std::optional<int64_t> length;
  Value before, current;
  std::optional<Value> after;  // looked at early; Missing behind the last item
  Value last_changed;
  const Statement* recursive = nullptr;
  Activation* outer = nullptr;
};

class Interpreter {
 public:
  /// `context`: the variables given to the template.
  Interpreter(Runtime& runtime, const Tree& tree, const Dict& context, int64_t max_output)
      : runtime_(runtime), tree_(tree), context_(context), max_output_(max_output) {}

  std::string run();
  const std::vector<GeneratedSpan>& generated() const { return generated_; }

  /// Calls a macro or block body defined in `outer`.
  Value invoke(const Function& function, Activation* outer, const Arguments& arguments);
  /// The text of a recursive loop over `source`.
  Value run_recursive(const Statement& loop, Activation* outer, const Value& source, int64_t depth0);
  bool condition_holds(const Statement& loop, Activation& activation, Value& item);

 private:
  enum class Flow { kNext, kBreak, kContinue };

  /// Where the running function has its variables and writes to.
  struct Frame {
    Activation& activation;
    std::string& out;
  };

  // Statements.
  Flow execute(const Block& block, Frame& frame);
  Flow execute(const Statement& statement, Frame& frame);
  Flow execute_if(const Statement& statement, Frame& frame);
  Flow execute_for(const Statement& statement, Frame& frame);
  Flow execute_loop(const Statement& statement, Frame& frame, const Value& source, int64_t depth0);
  void execute_set_block(const Statement& statement, Frame& frame);
  void execute_filter_block(const Statement& statement, Frame& frame);
  void execute_call(const Statement& statement, Frame& frame);
  void execute_generation(const Statement& statement, Frame& frame);
  Flow execute_with(const Statement& statement, Frame& frame);
  Value evaluate_block_filter(const Expression& filter, const Value& text, Activation& activation);
  void write(Frame& frame, std::string_view text);

  // Variables.
  Activation& new_activation(const Function& function, Activation* outer, std::optional<Activation>& local);
  Value& slot(const Variable& variable, Activation& activation);
  void enter(const Scope& scope, Activation& activation);
  void leave(const Scope& scope, Activation& activation);
  void assign(const Expression& target, const Value& value, Activation& activation);
  void require_namespaces(const Expression& target, Activation& activation);
  Value look_up(const std::string& name);

  // Expressions.
  Value evaluate(const Expression& expression, Activation& activation);
  Value evaluate_inner(const Expression& expression, Activation& activation);
  Value evaluate_dict(const Expression& expression, Activation& activation);
  Value evaluate_concat(const Expression& expression, Activation& activation);
  Value evaluate_comparison(const Expression& expression, Activation& activation);
  Value evaluate_slice(const Expression& expression, Activation& activation);
  Value evaluate_filter(const Expression& expression, const Value& value, Activation& activation);
  Value evaluate_test(const Expression& expression, Activation& activation);
  Value evaluate_call(const Expression& expression, Activation& activation, const Value* caller);
  Arguments evaluate_arguments(const CallArguments& arguments, Activation& activation);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& expressions, Activation& activation);

  // Calls.
  Value call(const Value& callee, const Arguments& arguments);
  void set_parameters(const Function& function, Activation& activation, const Arguments& arguments);
  Value make_macro(const Function& function, Activation& activation);

  Runtime& runtime_;
  const Tree& tree_;
  const Dict& context_;
  int64_t max_output_;
  std::string output_;
  int64_t output_length_ = 0;  // in code points
  std::vector<GeneratedSpan> generated_;
  std::deque<Activation> activations_;  // of functions with functions inside
  std::deque<LoopState> loops_;
};

}  // namespace cohort::jinja
