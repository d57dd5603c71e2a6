#include "cohort/rewards/code_test.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "cohort/rewards/code_test_forms.h"
#include "cohort/rewards/python_json.h"
#include "cohort/rewards/python_literal.h"
#include "cohort/rewards/python_tests.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/long_integers.h"

namespace cohort {
namespace {

void check_keys(const Json& test, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : test.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw FormatError(str("unknown key \"", key, "\""));
  }
}

std::string read_text(const Json& test, const char* key) {
  const auto member = test.find(key);
  if (member == test.end() || !member->is_string()) throw FormatError(str("\"", key, "\" must be a text"));
  return member->get<std::string>();
}

std::optional<Tolerance> read_tolerance(const Json& test) {
  const auto member = test.find("tolerance");
  if (member == test.end()) return std::nullopt;
  const double tolerance = member->is_number() ? member->get<double>() : -1.0;
  if (!(tolerance >= 0.0 && std::isfinite(tolerance)))
    throw FormatError("\"tolerance\" must be a number that is not negative");
  return Tolerance::within(tolerance);
}

CodeTest read_output_test(const Json& json) {
  check_keys(json, {"stdin", "stdout", "tolerance"});
  CodeTest test;
  test.input = json.contains("stdin") ? read_text(json, "stdin") : "";
  test.expected_output = read_text(json, "stdout");
  test.tolerance = read_tolerance(json);
  return test;
}

CodeTest read_call_test(const Json& json) {
  check_keys(json, {"call", "args", "kwargs", "expected", "tolerance"});
  CodeTest test;
  test.kind = CodeTest::Kind::kValue;
  const Json args = json.value("args", Json::array()), kwargs = json.value("kwargs", Json::object());
  if (!args.is_array()) throw FormatError("\"args\" must be a list");
  if (!kwargs.is_object()) throw FormatError("\"kwargs\" must be an object");
  if (!json.contains("expected")) throw FormatError("\"expected\" is missing");
  test.call = to_python_json({{"call", read_text(json, "call")}, {"args", args}, {"kwargs", kwargs}});
  test.expected = from_json(json.at("expected"));
  test.tolerance = read_tolerance(json);
  return test;
}

constexpr const char* kForms =
    "a list of {\"stdin\", \"stdout\"}, {\"call\", \"args\", \"expected\"}, {\"input\", \"output\"} or "
    "asserts, "
    "{\"inputs\", \"outputs\", \"fn_name\"}, or check(candidate) as Python text (docs/sandbox.md)";

// An object of a list, and an object for all tests.
std::vector<CodeTest> read_object(const Json& json, const TestContext& context) {
  if (json.contains("call")) return {read_call_test(json)};
  if (json.contains("stdout")) return {read_output_test(json)};
  if (has_parallel_tests(json)) return read_parallel_tests(json, context);
  if (json.contains("output") || json.contains("expected_output")) return {read_pair_test(json, context)};
  throw FormatError(str("it is none of the forms that are read: ", kForms));
}

std::vector<CodeTest> read_python(const std::string& text, const TestContext& context) {
  std::vector<CodeTest> tests = read_python_tests(text, context.function);
  for (CodeTest& test : tests) test.setup = context.setup + test.setup;
  return tests;
}

std::vector<CodeTest> read_entry(const Json& json, const TestContext& context) {
  if (json.is_string()) return read_python(json.get<std::string>(), context);
  if (json.is_object()) return read_object(json, context);
  throw FormatError("it is neither an object nor an assert");
}

std::optional<Json> to_json(const TypedValue& value);

std::optional<Json> to_json_array(const std::vector<TypedValue>& items) {
  Json list = Json::array();
  for (const TypedValue& item : items) {
    std::optional<Json> entry = to_json(item);
    if (!entry) return std::nullopt;
    list.push_back(*std::move(entry));
  }
  return list;
}

std::optional<Json> to_json_object(const std::vector<TypedValue>& items) {
  Json object = Json::object();
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    std::optional<Json> entry = to_json(items[i + 1]);
    if (!entry || items[i].kind != TypedValue::Kind::kString) return std::nullopt;
    object[items[i].text] = *std::move(entry);
  }
  return object;
}

// Nothing for what JSON lacks, such as a set.
std::optional<Json> to_json(const TypedValue& value) {
  switch (value.kind) {
    case TypedValue::Kind::kNone:
      return Json();
    case TypedValue::Kind::kBool:
      return Json(value.number != 0.0);
    case TypedValue::Kind::kInt:
      return make_integer(value.text);
    case TypedValue::Kind::kFloat:
      return std::isfinite(value.number) ? std::optional<Json>(value.number) : std::nullopt;
    case TypedValue::Kind::kString:
      return Json(value.text);
    case TypedValue::Kind::kList:
    case TypedValue::Kind::kTuple:
      return to_json_array(value.items);
    case TypedValue::Kind::kDict:
      return to_json_object(value.items);
    default:
      return std::nullopt;
  }
}

// A list or a dict as Python prints it, such as ['assert f(1) == 2'] in an exported table.
std::optional<Json> read_printed(const std::string& text) {
  const std::string_view literal = trim(text);
  if (!literal.starts_with('[') && !literal.starts_with('{')) return std::nullopt;
  const std::optional<TypedValue> value = parse_python_literal(literal);
  return value ? to_json(*value) : std::nullopt;
}

// A column's JSON, or that of its text; nothing where the text is Python.
std::optional<Json> read_column(const Json& column) {
  if (!column.is_string()) return column;
  const std::string& text = column.get_ref<const std::string&>();
  Json json = parse_exact_json(text);
  if (!json.is_discarded()) return json;
  if (std::optional<Json> printed = read_printed(text)) return printed;
  if (text.find("assert") != std::string::npos) return std::nullopt;
  throw FormatError(str("its text is neither JSON nor Python with asserts; what is read is ", kForms));
}

std::vector<CodeTest> read_list(const Json& list, const TestContext& context) {
  std::vector<CodeTest> tests;
  int64_t number = 0;
  for (const Json& entry : list) {
    ++number;
    try {
      for (CodeTest& test : read_entry(entry, context)) tests.push_back(std::move(test));
    } catch (const FormatError& error) {
      const std::string text = entry.is_string() ? entry.get<std::string>() : to_lenient_json_text(entry);
      throw FormatError(str("test ", number, " can't be read, ", excerpt(text), ": ", error.what()));
    }
  }
  return tests;
}

std::vector<CodeTest> checked(std::vector<CodeTest> tests) {
  if (tests.empty()) throw FormatError("the row has no test");
  for (CodeTest& test : tests) {
    const bool calls_solution = test.call.find("Solution().") != std::string::npos;
    test.has_imports = test.has_imports || calls_solution;
  }
  return tests;
}

}  // namespace

const Json* find_code_tests(const Json& fields) {
  for (const char* name : {"tests", "test_list", "input_output", "test"}) {
    const auto column = fields.find(name);
    if (column != fields.end() && !column->is_null()) return &*column;
  }
  return nullptr;
}

std::vector<CodeTest> read_code_tests(const Json& fields) {
  const Json* found = find_code_tests(fields);
  if (found == nullptr)
    throw FormatError("the row has no column `tests` (or `test_list`, `input_output`, `test`)");
  const Json& column = *found;
  const TestContext context = read_test_context(fields);
  std::vector<CodeTest> tests;
  try {
    const std::optional<Json> json = read_column(column);
    if (!json) {
      tests = read_python(column.get<std::string>(), context);
    } else if (json->is_array()) {
      return checked(read_list(*json, context));
    } else if (json->is_object()) {
      tests = read_object(*json, context);
    } else {
      throw FormatError(str("it is none of the forms that are read: ", kForms));
    }
  } catch (const FormatError& error) {
    throw FormatError(str("the tests can't be read: ", error.what()));
  }
  return checked(std::move(tests));
}

std::string find_value_fault(const CodeTest& test, const std::string& result,
                             const Tolerance& float_tolerance) {
  const std::optional<TypedValue> value = read_typed_value(result);
  if (!value) return "no value was returned";
  if (test.kind != CodeTest::Kind::kValue) {
    const bool wanted = test.kind == CodeTest::Kind::kTruthy;
    const bool is_right = value->kind != TypedValue::Kind::kOther && is_truthy(*value) == wanted;
    return is_right ? "" : str("wrong value, ", describe(*value), " is not ", wanted ? "true" : "false");
  }
  const Tolerance tolerance = test.tolerance.value_or(float_tolerance);
  const bool is_kind = !test.is_identity || value->kind == test.expected.kind;
  if (is_kind && is_equal(test.expected, *value, tolerance)) return "";
  if (test.may_be_wrapped && is_equal(test.expected.items.at(0), *value, tolerance)) return "";
  return str("wrong value, ", describe(*value), " instead of ", describe(test.expected));
}

}  // namespace cohort
