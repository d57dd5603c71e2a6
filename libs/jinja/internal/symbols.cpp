#include "libs/jinja/internal/symbols.h"

#include "libs/jinja/template.h"

namespace cohort::jinja {

Reference Symbols::define(const std::string& name, Load load) {
  const auto [it, is_new] = known_->try_emplace(name, slots_->num_slots);
  slots_->num_slots += is_new;
  const Reference reference{function_, it->second};
  references_[name] = reference;
  loads_[reference.slot] = std::move(load);
  return reference;
}

std::optional<Reference> Symbols::find(const std::string& name) const {
  for (const Symbols* symbols = this; symbols != nullptr; symbols = symbols->parent_) {
    const auto it = symbols->references_.find(name);
    if (it != symbols->references_.end()) return it->second;
  }
  return std::nullopt;
}

void Symbols::store(const std::string& name) {
  stores_.insert(name);
  if (references_.contains(name)) return;
  const std::optional<Reference> outer = parent_ == nullptr ? std::nullopt : parent_->find(name);
  define(name, outer ? Load{Scope::Load::kOuter, name, *outer} : Load{Scope::Load::kNone, name, {}});
}

void Symbols::load(const std::string& name) {
  if (!find(name)) define(name, {Scope::Load::kContext, name, {}});
}

Reference Symbols::declare_parameter(const std::string& name) {
  stores_.insert(name);
  return define(name, {Scope::Load::kParameter, name, {}});
}

std::vector<Symbols> Symbols::branches(int count) {
  constexpr int64_t kMaxCopied = 2'000'000;
  slots_->copied += count * static_cast<int64_t>(references_.size() + loads_.size() + stores_.size());
  if (slots_->copied > kMaxCopied) throw TemplateError("the template has too many names and branches");
  return std::vector<Symbols>(count, *this);
}

void Symbols::merge_branches(const std::vector<Symbols>& branches) {
  std::set<std::string> stores;
  for (const Symbols& branch : branches) {
    for (const std::string& name : branch.stores_) {
      if (!stores_.contains(name)) stores.insert(name);
    }
  }
  for (const Symbols& branch : branches) {
    for (const auto& [name, reference] : branch.references_) references_[name] = reference;
    for (const auto& [slot, load] : branch.loads_) loads_[slot] = load;
    stores_.insert(branch.stores_.begin(), branch.stores_.end());
  }
  for (const std::string& name : stores) {
    const Reference target = *find(name);
    const std::optional<Reference> outer = parent_ == nullptr ? std::nullopt : parent_->find(name);
    loads_[target.slot] =
        outer ? Load{Scope::Load::kOuter, name, *outer} : Load{Scope::Load::kContext, name, {}};
  }
}

Scope Symbols::scope() const {
  Scope scope;
  for (const auto& [slot, load] : loads_) {
    scope.entries.push_back({load.kind, slot, load.name, {function_ - load.outer.function, load.outer.slot}});
  }
  return scope;
}

}  // namespace cohort::jinja
