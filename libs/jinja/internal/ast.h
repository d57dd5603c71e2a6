// A parsed template: expressions and statements, with every name bound to its variable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/jinja/internal/callable.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/internal/value.h"

namespace cohort::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Block = std::vector<std::unique_ptr<Statement>>;

/// Where a variable lies: in the activation `hops` functions outside of the running one.
struct Variable {
  int hops = 0;
  int slot = -1;
};

/// What happens to the variables of a scope when it is entered: those of an outer scope are copied, those of
/// the context looked up, the others have no value yet.
struct Scope {
  enum class Load { kParameter, kContext, kOuter, kNone };
  struct Entry {
    Load load;
    int slot;
    std::string name;  // of a context variable
    Variable outer;    // seen from the scope's own function
  };
  std::vector<Entry> entries;
};

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> keyword;
  ExpressionPtr list;     ///< *list
  ExpressionPtr mapping;  ///< **mapping
};

enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

using Filter = Value (*)(Runtime& runtime, const Value& value, const Arguments& arguments);
using Test = bool (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

struct Expression {
  enum class Kind {
    kData,       // text between tags
    kConstant,   // constant
    kName,       // name, variable
    kNamespace,  // name.attribute as a target: name, variable, attribute
    kTuple,      // operands
    kList,       // operands
    kDict,       // operands: key, value, key, value
    kConcat,     // operands joined by ~
    kAnd,
    kOr,
    kNot,
    kNegative,
    kPositive,
    kBinary,       // binary
    kCompare,      // operands[0] and comparisons of it with the others
    kConditional,  // operands: test, then, else or null
    kAttribute,    // operands[0].name
    kItem,         // operands[0][operands[1]]
    kSlice,        // operands: sequence, start, stop, step; null where left out
    kCall,         // operands[0](arguments)
    kFilter,       // operands[0]|name(arguments); null for the text of a block
    kTest,         // operands[0] is name(arguments)
  };

  Kind kind;
  int line;
  int depth = 1;  ///< of the tree
  std::string name{};
  std::string attribute{};
  Value constant{};
  Variable variable{};
  std::vector<ExpressionPtr> operands{};
  std::vector<Comparison> comparisons{};
  BinaryOperator binary{};
  std::unique_ptr<CallArguments> arguments{};
  Filter filter = nullptr;
  Test test = nullptr;
};

/// A macro, or the body of a {% call %} or {% generation %} block.
struct Function {
  std::string name;  ///< empty for a body without one
  std::vector<ExpressionPtr> parameters;
  std::vector<ExpressionPtr> defaults;  ///< of the last parameters
  Block body;
  Scope scope;
  std::vector<int> parameter_slots;
  int caller_slot = -1;  ///< where the body uses `caller`, `kwargs` and `varargs`
  int kwargs_slot = -1;
  int varargs_slot = -1;
  int num_slots = 0;
  bool captured = false;  ///< functions inside may outlive a call of this one
};

struct Statement {
  enum class Kind {
    kOutput,      // expressions
    kIf,          // expressions: tests; blocks: one per test and one more for else
    kFor,         // targets[0], expressions[0], expressions[1] the condition or null; blocks: body, else.
                  // targets[1]: the variables of the condition. function: that of a recursive loop
    kSet,         // targets[0], expressions[0]
    kSetBlock,    // targets[0], expressions[0] the filter or null; blocks[0]
    kMacro,       // targets[0], function
    kCall,        // function, expressions[0]: the call
    kGeneration,  // function
    kFilter,      // expressions[0]: the filter; blocks[0]
    kWith,        // targets, expressions, blocks[0]
    kBreak,
    kContinue,
  };

  Kind kind;
  int line;
  std::vector<ExpressionPtr> expressions{};
  std::vector<ExpressionPtr> targets{};
  std::vector<Block> blocks{};
  std::vector<Scope> scopes{};  ///< of the blocks; of kFor: body, else, condition
  std::unique_ptr<Function> function{};
  bool recursive = false;
  int loop_slot = -1;  ///< of `loop`, where the body uses it
};

/// A parsed template: immutable, usable by several threads.
struct Tree {
  Function root;
  bool has_generation = false;
  bool loops_over_content = false;
};

}  // namespace cohort::jinja
