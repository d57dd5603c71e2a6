// What a template can call: functions, methods bound to their object, macros and the like; and how the
// arguments of a call reach their parameters.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/jinja/internal/value.h"

namespace cohort::jinja {

/// The arguments of one call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

class Callable {
 public:
  virtual ~Callable() = default;
  virtual Value call(Runtime& runtime, const Arguments& arguments) const = 0;
  /// An attribute, Missing when there is none.
  virtual Value attribute(Runtime&, std::string_view) const { return {}; }
  /// What printing shows; nothing for what Python shows with an address.
  virtual std::optional<std::string> repr() const { return std::nullopt; }

  int depth = 1;  ///< of what it holds, itself included
};

/// A parameter of what is built in: required unless it may be left out.
struct Parameter {
  const char* name;
  bool optional = false;
  bool positional_only = false;
};

/// One value per parameter, Missing where none was given. Throws TemplateError naming `function` for
/// arguments that don't fit.
std::vector<Value> bind(const std::string& function, const Arguments& arguments,
                        std::initializer_list<Parameter> parameters);

/// Throw TemplateError naming `function` for another type.
const std::string& text_argument(const Value& value, const char* function);
int64_t integer_argument(const Value& value, const char* function);

using NativeFunction = Value (*)(Runtime& runtime, const Arguments& arguments);
using NativeMethod = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

/// A global function.
Value make_function(NativeFunction function);

/// A method of `self`.
Value make_method(const Value& self, NativeMethod method);

}  // namespace cohort::jinja
