// The interpreter's variables and calls.
#include <algorithm>

#include "libs/common/str.h"
#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/globals.h"
#include "libs/jinja/internal/interpreter.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"
#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

class Macro : public Callable {
 public:
  Macro(Interpreter& interpreter, const Function& function, Activation& outer)
      : interpreter_(interpreter), function_(function), outer_(outer) {}
  Value call(Runtime&, const Arguments& arguments) const override {
    return interpreter_.invoke(function_, &outer_, arguments);
  }
  Value attribute(Runtime& runtime, std::string_view name) const override {
    if (name == "name") return function_.name.empty() ? Value(None()) : runtime.text(function_.name);
    return {};
  }
  std::optional<std::string> repr() const override {
    return function_.name.empty() ? "<Macro anonymous>" : "<Macro " + in_quotes(function_.name) + ">";
  }

 private:
  Interpreter& interpreter_;
  const Function& function_;
  Activation& outer_;
};

/// Takes the keyword argument `name` away; Missing when it was not given.
Value take_keyword(Arguments& arguments, const std::string& name) {
  const auto it = std::find_if(arguments.keyword.begin(), arguments.keyword.end(),
                               [&](const auto& keyword) { return keyword.first == name; });
  if (it == arguments.keyword.end()) return {};
  Value value = it->second;
  arguments.keyword.erase(it);
  return value;
}

}  // namespace

Activation& Interpreter::new_activation(const Function& function, Activation* outer,
                                        std::optional<Activation>& local) {
  runtime_.allocate(static_cast<int64_t>(sizeof(Value)) * function.num_slots + 64);
  Activation& activation = function.captured ? activations_.emplace_back() : local.emplace();
  activation.slots.resize(function.num_slots);
  activation.outer = outer;
  return activation;
}

Value& Interpreter::slot(const Variable& variable, Activation& activation) {
  Activation* owner = &activation;
  for (int i = 0; i < variable.hops; ++i) owner = owner->outer;
  return owner->slots[variable.slot];
}

Value Interpreter::look_up(const std::string& name) {
  if (const Value* value = context_.find(name)) return *value;
  return find_global(name);
}

void Interpreter::enter(const Scope& scope, Activation& activation) {
  for (const Scope::Entry& entry : scope.entries) {
    runtime_.step();
    switch (entry.load) {
      case Scope::Load::kParameter:
        break;
      case Scope::Load::kContext:
        activation.slots[entry.slot] = look_up(entry.name);
        break;
      case Scope::Load::kOuter:
        activation.slots[entry.slot] = slot(entry.outer, activation);
        break;
      case Scope::Load::kNone:
        activation.slots[entry.slot] = Value();
        break;
    }
  }
}

void Interpreter::leave(const Scope& scope, Activation& activation) {
  for (const Scope::Entry& entry : scope.entries) activation.slots[entry.slot] = Value();
}

void Interpreter::require_namespaces(const Expression& target, Activation& activation) {
  if (target.kind == Expression::Kind::kNamespace &&
      slot(target.variable, activation).get_namespace() == nullptr)
    throw TemplateError("cannot assign attribute on non-namespace object");
  for (const ExpressionPtr& part : target.operands) require_namespaces(*part, activation);
}

void Interpreter::assign(const Expression& target, const Value& value, Activation& activation) {
  if (target.kind == Expression::Kind::kName) {
    slot(target.variable, activation) = value;
    return;
  }
  if (target.kind == Expression::Kind::kNamespace) {
    Namespace* names = slot(target.variable, activation).get_namespace();
    set_namespace_attribute(runtime_, *names, target.attribute, value);
    return;
  }
  const std::vector<Value> items = items_of(runtime_, value);
  if (items.size() != target.operands.size()) {
    throw TemplateError(items.size() < target.operands.size()
                            ? str("not enough values to unpack (expected ", target.operands.size(), ", got ",
                                  items.size(), ")")
                            : str("too many values to unpack (expected ", target.operands.size(), ")"));
  }
  for (size_t i = 0; i < items.size(); ++i) assign(*target.operands[i], items[i], activation);
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  require_defined(callee);
  const Callable* callable = callee.get<Callable>();
  if (callable == nullptr) throw_type_error(str("'", type_name(callee), "' object is not callable"));
  return callable->call(runtime_, arguments);
}

Value Interpreter::make_macro(const Function& function, Activation& activation) {
  runtime_.allocate(64);
  return std::shared_ptr<const Callable>(std::make_shared<Macro>(*this, function, activation));
}

Value Interpreter::invoke(const Function& function, Activation* outer, const Arguments& arguments) {
  const Runtime::Level level(runtime_);
  std::optional<Activation> local;
  Activation& activation = new_activation(function, outer, local);
  set_parameters(function, activation, arguments);
  enter(function.scope, activation);
  const size_t first_default = function.parameters.size() - function.defaults.size();
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    Value& value = activation.slots[function.parameter_slots[i]];
    if (!value.is_missing()) continue;
    value = i >= first_default
                ? evaluate(*function.defaults[i - first_default], activation)
                : runtime_.undefined("parameter '" + function.parameters[i]->name + "' was not provided");
  }
  std::string text;
  Frame frame{activation, text};
  execute(function.body, frame);
  return runtime_.text(std::move(text));
}

void Interpreter::set_parameters(const Function& function, Activation& activation,
                                 const Arguments& arguments) {
  Arguments rest = arguments;
  const size_t num_parameters = function.parameters.size();
  for (size_t i = 0; i < num_parameters; ++i) {
    activation.slots[function.parameter_slots[i]] =
        i < rest.positional.size() ? rest.positional[i] : take_keyword(rest, function.parameters[i]->name);
  }
  if (function.caller_slot >= 0) {
    const Value caller = take_keyword(rest, "caller");
    activation.slots[function.caller_slot] =
        caller.is_missing() || caller.is_none() ? runtime_.undefined("No caller defined") : caller;
  }
  const std::string name = function.name.empty() ? "None" : "'" + function.name + "'";
  if (function.kwargs_slot >= 0) {
    Dict kwargs;
    for (const auto& [key, value] : rest.keyword) kwargs.set(runtime_, runtime_.text(key), value);
    activation.slots[function.kwargs_slot] = runtime_.dict(std::move(kwargs));
  } else if (!rest.keyword.empty()) {
    throw_type_error(str("macro ", name, " takes no keyword argument '", rest.keyword[0].first, "'"));
  }
  if (function.varargs_slot >= 0) {
    const auto begin = rest.positional.begin() + std::min(num_parameters, rest.positional.size());
    activation.slots[function.varargs_slot] =
        runtime_.tuple(std::vector<Value>(begin, rest.positional.end()));
  } else if (rest.positional.size() > num_parameters) {
    throw_type_error(str("macro ", name, " takes not more than ", num_parameters, " argument(s)"));
  }
}

}  // namespace cohort::jinja
