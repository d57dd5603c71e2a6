#include "libs/jinja/internal/binder.h"

#include <functional>

#include "libs/common/str.h"
#include "libs/jinja/internal/filters.h"
#include "libs/jinja/internal/symbols.h"
#include "libs/jinja/internal/tests.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

using Kind = Statement::Kind;
using ExpressionKind = Expression::Kind;

/// Calls f for every direct part of an expression.
void for_each_part(const Expression& expression, const auto& f) {
  for (const ExpressionPtr& operand : expression.operands)
    if (operand) f(*operand);
  if (!expression.arguments) return;
  for (const ExpressionPtr& argument : expression.arguments->positional) f(*argument);
  for (const auto& [name, argument] : expression.arguments->keyword) f(*argument);
  if (expression.arguments->list) f(*expression.arguments->list);
  if (expression.arguments->mapping) f(*expression.arguments->mapping);
}

/// Every name that an expression or block uses or assigns, however deep inside.
using OnName = std::function<void(const Expression& name, bool is_target)>;

void visit_names(const Expression& expression, bool is_target, const OnName& f) {
  const bool named =
      expression.kind == ExpressionKind::kName || expression.kind == ExpressionKind::kNamespace;
  if (named) f(expression, is_target && expression.kind == ExpressionKind::kName);
  for_each_part(expression, [&](const Expression& part) { visit_names(part, is_target, f); });
}

void visit_names(const Block& block, const OnName& f);

void visit_names(const Statement& statement, const OnName& f) {
  for (const ExpressionPtr& target : statement.targets) visit_names(*target, true, f);
  for (const ExpressionPtr& expression : statement.expressions)
    if (expression) visit_names(*expression, false, f);
  for (const Block& block : statement.blocks) visit_names(block, f);
  if (!statement.function) return;
  for (const ExpressionPtr& parameter : statement.function->parameters) visit_names(*parameter, true, f);
  for (const ExpressionPtr& value : statement.function->defaults) visit_names(*value, false, f);
  visit_names(statement.function->body, f);
}

void visit_names(const Block& block, const OnName& f) {
  for (const auto& statement : block) visit_names(*statement, f);
}

bool mentions(const Block& block, const std::string& name) {
  bool found = false;
  visit_names(block, [&](const Expression& other, bool is_target) {
    found = found || (!is_target && other.name == name);
  });
  return found;
}

/// Collects the names of one scope in the order of Jinja's own analysis.
class Analysis {
 public:
  explicit Analysis(Symbols& symbols) : symbols_(&symbols) {}

  void load(const Expression& expression) {
    visit_names(expression, false, [&](const Expression& name, bool) { symbols_->load(name.name); });
  }
  void store(const Expression& target) {
    visit_names(target, true, [&](const Expression& name, bool is_target) {
      is_target ? symbols_->store(name.name) : symbols_->load(name.name);
    });
  }
  void declare(const Expression& target) {
    visit_names(target, true, [&](const Expression& name, bool) { symbols_->declare_parameter(name.name); });
  }
  void block(const Block& block) {
    for (const auto& statement : block) visit(*statement);
  }

 private:
  /// Bodies with scopes of their own are not looked into.
  void visit(const Statement& statement) {
    switch (statement.kind) {
      case Kind::kIf:
        return visit_if(statement);
      case Kind::kFor:
        return load(*statement.expressions[0]);
      case Kind::kSet:
        load(*statement.expressions[0]);
        return store(*statement.targets[0]);
      case Kind::kSetBlock:
      case Kind::kMacro:
        return store(*statement.targets[0]);
      default:
        for (const ExpressionPtr& expression : statement.expressions)
          if (expression) load(*expression);
    }
  }

  /// An elif is to Jinja an if of its own inside the branch of elifs.
  void visit_if(const Statement& statement) {
    load(*statement.expressions[0]);
    std::vector<Symbols> branches = symbols_->branches(3);
    Analysis(branches[0]).block(statement.blocks[0]);
    for (size_t i = 1; i < statement.expressions.size(); ++i)
      Analysis(branches[1]).visit_elif(*statement.expressions[i], statement.blocks[i]);
    Analysis(branches[2]).block(statement.blocks.back());
    symbols_->merge_branches(branches);
  }

  void visit_elif(const Expression& test, const Block& body) {
    load(test);
    std::vector<Symbols> branches = symbols_->branches(1);
    Analysis(branches[0]).block(body);
    symbols_->merge_branches(branches);
  }

  Symbols* symbols_;
};

class Binder {
 public:
  /// `soft`: inside an if, where Jinja looks for filters and tests only when they are used.
  Binder(const Symbols& symbols, bool soft, Function& function)
      : symbols_(symbols), soft_(soft), function_(function) {}

  void bind(const Block& block) const {
    for (const auto& statement : block) bind(*statement);
  }

  void bind(Expression& expression) const { bind(expression, soft_); }

 private:
  Variable variable(const std::string& name) const {
    const Reference reference = *symbols_.find(name);
    return {symbols_.function() - reference.function, reference.slot};
  }

  void bind(Expression& expression, bool soft) const {
    soft = soft || expression.kind == ExpressionKind::kConditional;
    if (expression.kind == ExpressionKind::kName || expression.kind == ExpressionKind::kNamespace)
      expression.variable = variable(expression.name);
    if (expression.kind == ExpressionKind::kFilter && expression.filter == nullptr && !soft)
      fail_without(expression, "filter", is_jinja_filter(expression.name));
    if (expression.kind == ExpressionKind::kTest && expression.test == nullptr && !soft)
      fail_without(expression, "test", false);
    for_each_part(expression, [&](const Expression& part) { bind(const_cast<Expression&>(part), soft); });
  }

  static void fail_without(const Expression& expression, const char* what, bool known) {
    if (known) return;
    throw TemplateError(str("line ", expression.line, ": No ", what, " named '", expression.name, "'."));
  }

  Symbols inner() const { return {&symbols_, symbols_.function(), symbols_.slots()}; }

  /// The scope of a block inside the same function, with what `prepare` declares.
  Scope bind_inner(const Block& block, const std::function<void(Analysis&)>& prepare,
                   const std::function<void(const Binder&)>& also = {}) const {
    Symbols symbols = inner();
    Analysis analysis(symbols);
    if (prepare) prepare(analysis);
    analysis.block(block);
    const Binder binder(symbols, false, function_);
    if (also) also(binder);
    binder.bind(block);
    return symbols.scope();
  }

  void bind(Statement& statement) const {
    switch (statement.kind) {
      case Kind::kFor:
        return bind_for(statement);
      case Kind::kIf:
        return bind_if(statement);
      case Kind::kMacro:
      case Kind::kCall:
      case Kind::kGeneration:
        return bind_function_statement(statement);
      case Kind::kFilter:
      case Kind::kSetBlock:
        return bind_captured(statement);
      case Kind::kWith:
        return bind_with(statement);
      default:
        bind_parts(statement);
    }
  }

  void bind_parts(Statement& statement) const {
    for (const ExpressionPtr& target : statement.targets) bind(*target);
    for (const ExpressionPtr& expression : statement.expressions)
      if (expression) bind(*expression);
  }

  void bind_if(Statement& statement) const {
    const Binder soft(symbols_, true, function_);
    for (const ExpressionPtr& test : statement.expressions) soft.bind(*test);
    for (const Block& block : statement.blocks) soft.bind(block);
  }

  void bind_captured(Statement& statement) const {
    for (const ExpressionPtr& target : statement.targets) bind(*target);
    Expression* filter = statement.expressions[0].get();
    statement.scopes[0] = bind_inner(
        statement.blocks[0],
        [&](Analysis& analysis) {
          if (filter != nullptr) analysis.load(*filter);
        },
        [&](const Binder& binder) {
          if (filter != nullptr) binder.bind(*filter);
        });
  }

  void bind_with(Statement& statement) const {
    for (const ExpressionPtr& value : statement.expressions) bind(*value);
    statement.scopes[0] = bind_inner(
        statement.blocks[0],
        [&](Analysis& analysis) {
          for (const ExpressionPtr& target : statement.targets) analysis.declare(*target);
        },
        [&](const Binder& binder) {
          for (const ExpressionPtr& target : statement.targets) binder.bind(*target);
        });
  }

  void bind_for(Statement& statement) const;
  void bind_loop(Statement& statement) const;
  void bind_function_statement(Statement& statement) const;
  void bind_function(Function& function) const;

  const Symbols& symbols_;
  bool soft_;
  Function& function_;
};

void refuse_assigned_loop(const Statement& statement) {
  visit_names(statement, [&](const Expression& name, bool is_target) {
    if (is_target && name.name == "loop")
      throw TemplateError(
          str("line ", name.line, ": can't assign to the special variable 'loop' inside a loop"));
  });
}

void Binder::bind_for(Statement& statement) const {
  refuse_assigned_loop(statement);
  bind(*statement.expressions[0]);
  if (!statement.recursive) return bind_loop(statement);
  // A recursive loop runs as a function of its own, with variables of its own in each recursion.
  function_.captured = true;
  statement.function = std::make_unique<Function>();
  FunctionSlots slots;
  const Symbols symbols(&symbols_, symbols_.function() + 1, slots);
  Binder(symbols, false, *statement.function).bind_loop(statement);
  statement.function->num_slots = slots.num_slots;
}

void Binder::bind_loop(Statement& statement) const {
  const bool extended = statement.recursive || mentions(statement.blocks[0], "loop");
  Expression& target = *statement.targets[0];
  Symbols body = inner();
  if (extended) statement.loop_slot = body.declare_parameter("loop").slot;
  Analysis(body).declare(target);
  Analysis(body).block(statement.blocks[0]);
  const Binder binder(body, false, function_);
  binder.bind(target);
  binder.bind(statement.blocks[0]);
  statement.scopes[0] = body.scope();
  statement.scopes[1] = bind_inner(statement.blocks[1], {});
  if (!statement.expressions[1]) return;
  Symbols condition = inner();
  Analysis(condition).declare(target);
  Analysis(condition).load(*statement.expressions[1]);
  // Jinja makes the condition a function: it has variables of its own for the target.
  Binder(condition, false, function_).bind(*statement.expressions[1]);
  statement.scopes[2] = condition.scope();
  statement.targets.push_back(std::make_unique<Expression>(Expression{target.kind, target.line}));
  const std::function<void(const Expression&, Expression&)> copy = [&](const Expression& from,
                                                                       Expression& to) {
    to.name = from.name;
    for (const ExpressionPtr& part : from.operands) {
      to.operands.push_back(std::make_unique<Expression>(Expression{part->kind, part->line}));
      copy(*part, *to.operands.back());
    }
  };
  copy(target, *statement.targets[1]);
  Binder(condition, false, function_).bind(*statement.targets[1]);
}

void Binder::bind_function_statement(Statement& statement) const {
  for (const ExpressionPtr& target : statement.targets) bind(*target);
  for (const ExpressionPtr& expression : statement.expressions) bind(*expression);
  bind_function(*statement.function);
}

void Binder::bind_function(Function& function) const {
  function_.captured = true;
  FunctionSlots slots;
  Symbols symbols(&symbols_, symbols_.function() + 1, slots);
  Analysis analysis(symbols);
  for (const ExpressionPtr& parameter : function.parameters) {
    analysis.declare(*parameter);
    function.parameter_slots.push_back(symbols.find(parameter->name)->slot);
  }
  const auto special = [&](const char* name, int& slot) {
    for (const ExpressionPtr& parameter : function.parameters)
      if (parameter->name == name) return;
    if (mentions(function.body, name)) slot = symbols.declare_parameter(name).slot;
  };
  special("caller", function.caller_slot);
  special("kwargs", function.kwargs_slot);
  special("varargs", function.varargs_slot);
  for (const ExpressionPtr& value : function.defaults) analysis.load(*value);
  analysis.block(function.body);
  const Binder binder(symbols, false, function);
  for (const ExpressionPtr& value : function.defaults) binder.bind(*value);
  binder.bind(function.body);
  function.scope = symbols.scope();
  function.num_slots = slots.num_slots;
}

}  // namespace

void bind_names(Tree& tree) {
  FunctionSlots slots;
  Symbols symbols(nullptr, 0, slots);
  Analysis(symbols).block(tree.root.body);
  Binder(symbols, false, tree.root).bind(tree.root.body);
  tree.root.scope = symbols.scope();
  tree.root.num_slots = slots.num_slots;
}

}  // namespace cohort::jinja
