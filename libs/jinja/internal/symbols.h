// Which names a scope of a template has and where their values come from: the rules by which Jinja's compiler
// turns names into local variables of Python functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/jinja/internal/ast.h"

namespace cohort::jinja {

/// The variables of one function, handed out one after another.
struct FunctionSlots {
  int num_slots = 0;
  int64_t copied = 0;  ///< names copied for branches
};

/// A variable before it is known from where it is seen.
struct Reference {
  int function = 0;  ///< nesting of functions, 0 for the template itself
  int slot = -1;
};

/// The names of one scope, built in the order in which they occur. A copy stands for one branch of an `if`.
class Symbols {
 public:
  Symbols(const Symbols* parent, int function, FunctionSlots& slots)
      : parent_(parent),
        function_(function),
        slots_(&slots),
        known_(std::make_shared<std::map<std::string, int>>()) {}

  void store(const std::string& name);
  void load(const std::string& name);
  Reference declare_parameter(const std::string& name);
  /// Copies for the branches of an `if`. Throws TemplateError when a template has absurdly many of both names
  /// and branches.
  std::vector<Symbols> branches(int count);
  void merge_branches(const std::vector<Symbols>& branches);

  std::optional<Reference> find(const std::string& name) const;
  int function() const { return function_; }
  FunctionSlots& slots() const { return *slots_; }

  /// What entering the scope does.
  Scope scope() const;

 private:
  struct Load {
    Scope::Load kind;
    std::string name;
    Reference outer;
  };

  Reference define(const std::string& name, Load load);

  const Symbols* parent_;
  int function_;
  FunctionSlots* slots_;
  std::shared_ptr<std::map<std::string, int>> known_;  // slots by name, the same in all branches
  std::map<std::string, Reference> references_;
  std::map<int, Load> loads_;  // by slot
  std::set<std::string> stores_;
};

}  // namespace cohort::jinja
