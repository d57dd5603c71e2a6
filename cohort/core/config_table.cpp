#include "cohort/core/config_table.h"

#include "cohort/core/error.h"

namespace cohort {
namespace {

template <typename Value>
constexpr bool kIsNumber = std::is_same_v<Value, int64_t> || std::is_same_v<Value, double>;

template <typename Value>
struct Plain {
  using Type = Value;
};
template <typename Value>
struct Plain<std::optional<Value>> {
  using Type = Value;
};
template <typename Value>
using PlainType = typename Plain<Value>::Type;

/// Numbers are taken from and by optionals, integers by numbers, and a string as a list of one. Other types
/// must be the same.
template <typename From, typename To>
bool take(const From& from, To& to) {
  if constexpr (!std::is_same_v<From, PlainType<From>>) {
    return !from || take(*from, to);
  } else if constexpr (kIsNumber<From> && kIsNumber<PlainType<To>> &&
                       (std::is_same_v<From, int64_t> || !std::is_same_v<PlainType<To>, int64_t>)) {
    to = static_cast<PlainType<To>>(from);
    return true;
  } else if constexpr (std::is_same_v<From, std::string> && std::is_same_v<To, std::vector<std::string>>) {
    to = {from};
    return true;
  } else if constexpr (std::is_same_v<From, To>) {
    to = from;
    return true;
  } else {
    return false;
  }
}

template <typename Value>
void take_value(const FieldValue& from, Value& to, const std::string& name) {
  const bool is_taken = std::visit([&](const auto& held) { return take(held, to); }, from);
  COHORT_CHECK(is_taken, "the value of ", name, " is of another type");
}

}  // namespace

Field field_in(FieldTable& table, Field field) {
  const auto kept = [&](const auto* value) -> FieldRef {
    using Value = std::remove_cvref_t<decltype(*value)>;
    using Kept = std::conditional_t<kIsNumber<Value>, std::optional<Value>, Value>;
    Kept unset{};
    if constexpr (!kIsNumber<Value>) unset = *value;
    FieldValue& held = table.try_emplace(field.name, unset).first->second;
    if (!std::holds_alternative<Kept>(held)) {
      take_value(held, unset, field.name);
      held = std::move(unset);
    }
    return &std::get<Kept>(held);
  };
  field.value = std::visit(kept, field.value);
  return field;
}

void take_values(const Section& settings, const FieldTable& table) {
  for (const Field& field : settings.fields) {
    const auto found = table.find(field.name);
    if (found == table.end()) continue;
    std::visit([&](auto* value) { take_value(found->second, *value, field.name); }, field.value);
  }
}

bool is_empty(const FieldValue& value) {
  const auto is_empty_value = [](const auto& held) {
    using Value = std::remove_cvref_t<decltype(held)>;
    if constexpr (kIsNumber<Value>) {
      return false;
    } else if constexpr (std::is_same_v<Value, bool>) {
      return !held;
    } else if constexpr (requires { held.has_value(); }) {
      return !held.has_value();
    } else {
      return held.empty();
    }
  };
  return std::visit(is_empty_value, value);
}

}  // namespace cohort
