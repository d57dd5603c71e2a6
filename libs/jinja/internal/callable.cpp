#include "libs/jinja/internal/callable.h"

#include "libs/common/str.h"
#include "libs/jinja/internal/operations.h"

namespace cohort::jinja {
namespace {

class Function : public Callable {
 public:
  explicit Function(NativeFunction function) : function_(function) {}
  Value call(Runtime& runtime, const Arguments& arguments) const override {
    return function_(runtime, arguments);
  }

 private:
  NativeFunction function_;
};

class Method : public Callable {
 public:
  Method(Value self, NativeMethod method) : self_(std::move(self)), method_(method) {
    depth = container_depth(self_) + 1;
    check_depth(depth);
  }
  Value call(Runtime& runtime, const Arguments& arguments) const override {
    return method_(runtime, self_, arguments);
  }

 private:
  Value self_;
  NativeMethod method_;
};

}  // namespace

std::vector<Value> bind(const std::string& function, const Arguments& arguments,
                        std::initializer_list<Parameter> parameters) {
  std::vector<Value> values(parameters.size());
  if (arguments.positional.size() > values.size()) {
    throw_type_error(str(function, " takes at most ", values.size(), " arguments (",
                         arguments.positional.size(), " given)"));
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), values.begin());
  for (const auto& [name, value] : arguments.keyword) {
    size_t i = 0;
    while (i < values.size() && (parameters.begin()[i].positional_only || parameters.begin()[i].name != name))
      ++i;
    if (i == values.size())
      throw_type_error(str(function, " got an unexpected keyword argument '", name, "'"));
    if (!values[i].is_missing())
      throw_type_error(str(function, " got multiple values for argument '", name, "'"));
    values[i] = value;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = parameters.begin()[i];
    if (values[i].is_missing() && !parameter.optional)
      throw_type_error(str(function, " is missing its argument '", parameter.name, "'"));
  }
  return values;
}

Value make_function(NativeFunction function) {
  return std::shared_ptr<const Callable>(std::make_shared<Function>(function));
}

Value make_method(const Value& self, NativeMethod method) {
  return std::shared_ptr<const Callable>(std::make_shared<Method>(self, method));
}

const std::string& text_argument(const Value& value, const char* function) {
  if (const Text* text = value.get<Text>()) return text->utf8;
  throw_type_error(str(function, ": expected a str argument, got ", type_name(value)));
}

int64_t integer_argument(const Value& value, const char* function) {
  if (const auto number = value.integer()) return *number;
  require_defined(value);
  throw_type_error(str(function, ": '", type_name(value), "' object cannot be interpreted as an integer"));
}

}  // namespace cohort::jinja
