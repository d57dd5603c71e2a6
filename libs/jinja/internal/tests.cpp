#include "libs/jinja/internal/tests.h"

#include <algorithm>
#include <cmath>

#include "libs/common/utf8.h"
#include "libs/jinja/internal/filters.h"
#include "libs/jinja/internal/operations.h"
#include "libs/jinja/python_text.h"

namespace cohort::jinja {
namespace {

void no_arguments(const Arguments& arguments) { bind("the test", arguments, {}); }

template <bool (*predicate)(const Value&)>
bool plain(Runtime&, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return predicate(value);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.is_bool(); }
bool is_true(const Value& v) { return v.is_bool() && truth(v); }
bool is_false(const Value& v) { return v.is_bool() && !truth(v); }
bool is_integer(const Value& v) { return v.is_whole() && !v.is_bool(); }
bool is_float(const Value& v) { return v.is_float(); }
bool is_number(const Value& v) { return v.number().has_value(); }
bool is_text(const Value& v) { return v.get<Text>() != nullptr; }
bool is_mapping(const Value& v) { return v.get<Dict>() != nullptr; }
bool is_sequence(const Value& v) { return has_length(v) && v.get<DictView>() == nullptr; }
bool is_callable(const Value& v) { return v.get<Callable>() != nullptr || v.is_undefined(); }
bool is_escaped(const Value& v) { return v.get<Text>() != nullptr && v.get<Text>()->markup; }

template <int remainder>
bool has_parity(Runtime& runtime, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return equal(runtime, binary(runtime, BinaryOperator::kMod, value, int64_t{2}), int64_t{remainder});
}

bool is_divisible(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("divisibleby", arguments, {{"num"}});
  return equal(runtime, binary(runtime, BinaryOperator::kMod, value, a[0]), int64_t{0});
}

template <bool (*wanted)(char32_t), bool (*unwanted)(char32_t)>
bool has_case(Runtime& runtime, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  const std::string text = to_text(runtime, value);
  runtime.look_through(static_cast<int64_t>(text.size()));
  return has_only_case(text, wanted, unwanted);
}

bool is_filter(Runtime&, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return value.get<Text>() != nullptr && is_jinja_filter(value.get<Text>()->utf8);
}

bool is_test(Runtime&, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return value.get<Text>() != nullptr && find_test(value.get<Text>()->utf8) != nullptr;
}

/// Python's `is`, with equal small values taken for the same object.
bool is_same(Runtime& runtime, const Value& value, const Arguments& arguments) {
  const auto a = bind("sameas", arguments, {{"other"}});
  const bool small = value.is_none() || value.number() || value.get<Text>() != nullptr;
  if (small) return value.data().index() == a[0].data().index() && equal(runtime, value, a[0]);
  return identical(value, a[0]);
}

bool is_iterable_test(Runtime&, const Value& value, const Arguments& arguments) {
  no_arguments(arguments);
  return is_iterable(value);
}

bool is_in(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return contains(runtime, bind("in", arguments, {{"seq"}})[0], value);
}

template <bool negated>
bool is_equal(Runtime& runtime, const Value& value, const Arguments& arguments) {
  return equal(runtime, value, bind("eq", arguments, {{"other", false, true}})[0]) != negated;
}

enum class Order { kLess, kLessEqual, kGreater, kGreaterEqual };

template <Order order>
bool is_ordered(Runtime& runtime, const Value& value, const Arguments& arguments) {
  static constexpr const char* kSymbols[] = {"<", "<=", ">", ">="};
  const auto a = bind("the comparison", arguments, {{"other", false, true}});
  const int result = compare(runtime, value, a[0], kSymbols[static_cast<int>(order)]);
  if (order == Order::kLess) return result == -1;
  if (order == Order::kGreater) return result == 1;
  return result == 0 || result == (order == Order::kLessEqual ? -1 : 1);
}

struct Entry {
  std::string_view name;
  Test test;
};

constexpr Entry kTests[] = {
    {"!=", is_equal<true>},
    {"<", is_ordered<Order::kLess>},
    {"<=", is_ordered<Order::kLessEqual>},
    {"==", is_equal<false>},
    {">", is_ordered<Order::kGreater>},
    {">=", is_ordered<Order::kGreaterEqual>},
    {"boolean", plain<is_boolean>},
    {"callable", plain<is_callable>},
    {"defined", plain<is_defined>},
    {"divisibleby", is_divisible},
    {"eq", is_equal<false>},
    {"equalto", is_equal<false>},
    {"escaped", plain<is_escaped>},
    {"even", has_parity<0>},
    {"false", plain<is_false>},
    {"filter", is_filter},
    {"float", plain<is_float>},
    {"ge", is_ordered<Order::kGreaterEqual>},
    {"greaterthan", is_ordered<Order::kGreater>},
    {"gt", is_ordered<Order::kGreater>},
    {"in", is_in},
    {"integer", plain<is_integer>},
    {"iterable", is_iterable_test},
    {"le", is_ordered<Order::kLessEqual>},
    {"lessthan", is_ordered<Order::kLess>},
    {"lower", has_case<is_lower_case, is_upper_case>},
    {"lt", is_ordered<Order::kLess>},
    {"mapping", plain<is_mapping>},
    {"ne", is_equal<true>},
    {"none", plain<is_none>},
    {"number", plain<is_number>},
    {"odd", has_parity<1>},
    {"sameas", is_same},
    {"sequence", plain<is_sequence>},
    {"string", plain<is_text>},
    {"test", is_test},
    {"true", plain<is_true>},
    {"undefined", plain<is_undefined>},
    {"upper", has_case<is_upper_case, is_lower_case>},
};

}  // namespace

Test find_test(std::string_view name) {
  const auto it =
      std::find_if(std::begin(kTests), std::end(kTests), [&](const Entry& e) { return e.name == name; });
  return it == std::end(kTests) ? nullptr : it->test;
}

}  // namespace cohort::jinja
