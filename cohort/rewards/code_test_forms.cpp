#include "cohort/rewards/code_test_forms.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "cohort/rewards/python_json.h"
#include "cohort/rewards/python_text.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/long_integers.h"

namespace cohort {
namespace {

const Json* find_one(const Json& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto member = json.find(key);
    if (member != json.end() && !member->is_null()) return &*member;
  }
  return nullptr;
}

// A name, or names with points between them.
bool is_name(std::string_view text) {
  size_t end = 0;
  for (bool is_first = true; end < text.size(); is_first = false) {
    if (!is_first && text[end++] != '.') return false;
    const size_t next = skip_word(text, end);
    if (next == end) return false;
    end = next;
  }
  return !text.empty();
}

std::string read_own_function(const Json& json) {
  const Json* name = find_one(json, {"fn_name", "func_name", "function_name", "entry_point"});
  return name != nullptr && name->is_string() ? name->get<std::string>() : "";
}

// The function that a row or a test names itself, or in `metadata`, an object or its text.
std::string read_function(const Json& json) {
  std::string name = read_own_function(json);
  const Json* metadata = find_one(json, {"metadata"});
  if (!name.empty() || metadata == nullptr) return name;
  const Json inner =
      metadata->is_string() ? Json::parse(metadata->get<std::string>(), nullptr, false) : *metadata;
  return inner.is_object() ? read_own_function(inner) : "";
}

// Standard input or output: a text, a number, or a list of lines.
std::string read_stream(const Json& json, const char* key) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number() || is_long_integer(json)) return to_json_text(json);
  if (!json.is_array()) throw FormatError(str("its ", key, " is neither a text nor a list of lines"));
  std::string text;
  for (const Json& line : json) {
    const std::string words = string_or_json(line);
    text += words + (words.ends_with('\n') ? "" : "\n");
  }
  return text;
}

// LiveCodeBench writes an argument a line, each as JSON.
Json read_argument_lines(const std::string& text) {
  Json arguments = Json::array();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = trim(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    if (line.empty()) continue;
    Json argument = parse_exact_json(std::string(line));
    if (argument.is_discarded()) throw FormatError(str("the argument ", excerpt(line), " is no JSON"));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

CodeTest make_stream_test(const Json& input, const Json& output) {
  CodeTest test;
  test.input = read_stream(input, "input");
  test.expected_output = read_stream(output, "output");
  return test;
}

// A method of the class Solution, where the program has one, or else a function.
CodeTest make_call_test(const std::string& function, const Json& input, const Json& output) {
  if (!is_name(function))
    throw FormatError(str("\"fn_name\" ", excerpt(function), " is no name of a function"));
  CodeTest test;
  test.kind = CodeTest::Kind::kValue;
  test.has_imports = true;
  const bool is_plain = function.find('.') == std::string::npos;
  const std::string call = is_plain ? str("Solution().", function, " if hasattr(globals().get('Solution'), '",
                                          function, "') else ", function)
                                    : function;
  const bool is_text = input.is_string();
  const Json arguments = is_text ? read_argument_lines(input.get<std::string>()) : input;
  if (!arguments.is_array() && !arguments.is_object()) throw FormatError("its input is no list of arguments");
  const Json positional = arguments.is_array() ? arguments : Json::array();
  const Json named = arguments.is_object() ? arguments : Json::object();
  test.call = to_python_json({{"call", call}, {"args", positional}, {"kwargs", named}});
  Json expected = is_text && output.is_string() ? parse_exact_json(output.get<std::string>()) : output;
  if (expected.is_discarded()) expected = output;
  test.expected = from_json(expected);
  return test;
}

// The member of a list of tests, or of texts that hold JSON.
const Json& list_of(const Json& json, std::initializer_list<const char*> keys, const char* name) {
  const Json* list = find_one(json, keys);
  if (list == nullptr || !list->is_array()) throw FormatError(str("\"", name, "\" is no list"));
  return *list;
}

// The test's own kind; empty if it has none.
std::string read_test_type(const Json& json) {
  const Json* type = find_one(json, {"testtype", "type"});
  return type != nullptr && type->is_string() ? type->get<std::string>() : "";
}

// APPS wraps some results in a list and takes both.
bool is_list_of_one(const Json& output) { return output.is_array() && output.size() == 1; }

std::string join_lines(const Json& lines) {
  if (lines.is_string()) return lines.get<std::string>() + "\n";
  std::string text;
  if (lines.is_array()) {
    for (const Json& line : lines) text += line.is_string() ? line.get<std::string>() + "\n" : "";
  }
  return text;
}

}  // namespace

TestContext read_test_context(const Json& fields) {
  TestContext context{read_function(fields), ""};
  for (const char* key : {"test_imports", "test_setup_code"}) {
    const auto column = fields.find(key);
    if (column != fields.end()) context.setup += join_lines(*column);
  }
  if (trim(context.setup).empty()) context.setup.clear();
  return context;
}

bool has_parallel_tests(const Json& json) {
  if (json.contains("input") && !read_test_type(json).empty()) return false;  // one test of lists
  const Json* inputs = find_one(json, {"inputs", "input"});
  const Json* outputs = find_one(json, {"outputs", "output"});
  return inputs != nullptr && inputs->is_array() && outputs != nullptr && outputs->is_array();
}

std::vector<CodeTest> read_parallel_tests(const Json& json, TestContext context) {
  const Json& inputs = list_of(json, {"inputs", "input"}, "inputs");
  const Json& outputs = list_of(json, {"outputs", "output"}, "outputs");
  if (inputs.size() != outputs.size())
    throw FormatError(str("it has ", inputs.size(), " inputs and ", outputs.size(), " outputs"));
  if (json.contains("fn_name") || json.contains("func_name")) context.function = read_function(json);
  std::vector<CodeTest> tests;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (context.function.empty()) {
      tests.push_back(make_stream_test(inputs[i], outputs[i]));
      continue;
    }
    tests.push_back(make_call_test(context.function, inputs[i], outputs[i]));
    tests.back().may_be_wrapped = is_list_of_one(outputs[i]);
  }
  return tests;
}

CodeTest read_pair_test(const Json& json, TestContext context) {
  const Json* input = find_one(json, {"input"});
  const Json* output = find_one(json, {"output", "expected_output"});
  if (output == nullptr) throw FormatError("\"output\" is missing");
  if (const std::string own = read_function(json); !own.empty()) context.function = own;
  const std::string kind = read_test_type(json);
  const bool is_stream = kind.find("stdin") != std::string::npos;
  const bool is_call = kind.find("func") != std::string::npos || kind.find("call") != std::string::npos;
  if (!kind.empty() && !is_stream && !is_call)
    throw FormatError(str("\"testtype\" ", excerpt(kind), " is neither stdin nor functional"));
  if (is_call && context.function.empty())
    throw FormatError("nothing names the function to call; add \"fn_name\" to it, or a column `fn_name`");
  const Json nothing = "";
  const Json& given = input != nullptr ? *input : nothing;
  if (is_stream || context.function.empty()) return make_stream_test(given, *output);
  CodeTest test = make_call_test(context.function, given, *output);
  test.may_be_wrapped = given.is_array() && is_list_of_one(*output);
  return test;
}

}  // namespace cohort
