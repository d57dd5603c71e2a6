#include "cohort/rewards/assert_subject.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "cohort/rewards/python_literal.h"
#include "cohort/rewards/python_text.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/common/str.h"

namespace cohort {
namespace {

constexpr int kMaxConversions = 8;

template <size_t size>
bool is_one_of(std::string_view name, const std::string_view (&names)[size]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// What a value is turned into before it is compared; the outcome is still compared outside.
bool is_conversion(std::string_view name) {
  constexpr std::string_view kNames[] = {"set", "frozenset", "list",  "tuple", "dict",   "sorted", "len",
                                         "sum", "min",       "max",   "str",   "repr",   "int",    "float",
                                         "abs", "bool",      "round", "bytes", "Counter"};
  return is_one_of(name, kNames);
}

// Names whose answer is a verdict, or that evaluate what stands in a text.
bool is_judge(std::string_view name) {
  constexpr std::string_view kNames[] = {"isinstance", "issubclass", "all",     "any",     "callable",
                                         "hasattr",    "eval",       "exec",    "print",   "compile",
                                         "isclose",    "allclose",   "getattr", "globals", "locals"};
  return is_one_of(name, kNames) || name.starts_with("__");
}

bool is_class(std::string_view name) {
  return !name.empty() && isupper(static_cast<unsigned char>(name[0])) != 0;
}

// What makes an input of literals, and can't be the function under test.
bool is_constructor(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "list",     "tuple", "set",     "frozenset", "dict",      "range",     "float",     "int",        "str",
      "bytes",    "bool",  "complex", "len",       "bytearray", "enumerate", "zip",       "iter",       "chr",
      "reversed", "array", "deque",   "ord",       "date",      "datetime",  "timedelta", "defaultdict"};
  return is_class(name) || is_one_of(name, kNames);
}

struct Call {
  std::string_view name;  // the last of NAME.NAME
  bool is_plain;          // no dot
  std::string_view inputs;
  size_t end;
};

size_t skip_blanks(std::string_view text, size_t offset) {
  while (offset < text.size() && isspace(static_cast<unsigned char>(text[offset])) != 0) ++offset;
  return offset;
}

// NAME(...) or NAME.NAME(...) at the beginning of `text`.
std::optional<Call> leading_call(std::string_view text) {
  Call call{{}, true, {}, 0};
  while (true) {
    const size_t end = skip_word(text, call.end);
    call.name = text.substr(call.end, end - call.end);
    call.end = end;
    if (call.name.empty() || isdigit(static_cast<unsigned char>(call.name[0])) != 0) return std::nullopt;
    if (end == text.size() || text[end] != '.') break;
    call.is_plain = false;
    ++call.end;
  }
  const size_t open = skip_blanks(text, call.end);
  if (open == text.size() || text[open] != '(' || is_keyword(call.name)) return std::nullopt;
  call.end = skip_brackets(text, open);
  call.inputs = trim(text.substr(open + 1, call.end - open - 2));
  return call;
}

void refuse_judge(std::string_view name) {
  if (is_judge(name)) refuse_text(str("its verdict would be that of ", name, ", inside the sandbox"));
}

// A further call might be that of the function under test, and what is around it the judge. Empty where there
// is none.
std::string find_further_call(std::string_view text) {
  bool follows_operand = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      i = skip_string(text, i);
      follows_operand = true;
    } else if (is_word(c)) {
      const size_t end = skip_word(text, i);
      const std::string_view word = text.substr(i, end - i);
      const size_t next = skip_blanks(text, end);
      const bool is_prefix = end < text.size() && (text[end] == '\'' || text[end] == '"');
      if (is_prefix && word.find_first_of("fFtT") != std::string_view::npos) return "an input is an f-string";
      if (next < text.size() && text[next] == '(' && !is_keyword(word) && !is_constructor(word))
        return str("beside its inputs `", word, "` is called, which might judge or be judged");
      follows_operand = false;
      i = end;
    } else {
      if (c == '(' && follows_operand) return "among its inputs the value of an expression is called";
      if (isspace(static_cast<unsigned char>(c)) == 0) follows_operand = c == ')' || c == ']' || c == '}';
      ++i;
    }
  }
  return "";
}

void check_inputs(std::string_view text) {
  const std::string fault = find_further_call(text);
  if (!fault.empty()) refuse_text(fault);
}

// A literal, or a slice of such.
void check_index(std::string_view text) {
  for (std::string_view part : split_at(text, ":")) {
    if (!part.empty() && !parse_python_literal(part))
      refuse_text(str("its index ", excerpt(part), " is no literal"));
  }
}

// What may follow a call: indices, attributes, and methods, with inputs only where the program's class made
// the object.
void check_rest(std::string_view rest, bool is_object, SubjectUse use) {
  for (rest = trim(rest); !rest.empty(); rest = trim(rest)) {
    if (rest[0] == '[') {
      const size_t end = skip_brackets(rest, 0);
      check_index(rest.substr(1, end - 2));
      rest.remove_prefix(end);
      continue;
    }
    const size_t end = rest[0] == '.' ? skip_word(rest, 1) : 0;
    if (end < 2) refuse_text(str("beside its call there is ", excerpt(rest)));
    const std::string_view name = rest.substr(1, end - 1);
    refuse_judge(name);
    rest = trim(rest.substr(end));
    if (!rest.starts_with("(")) continue;
    const size_t close = skip_brackets(rest, 0);
    const std::string_view inputs = trim(rest.substr(1, close - 2));
    if (!is_object && (!inputs.empty() || use != SubjectUse::kValue))
      refuse_text(str("its verdict would be that of the value's method ", name));
    check_inputs(inputs);
    rest.remove_prefix(close);
  }
}

void check_call(std::string_view text, SubjectUse use, int depth) {
  const std::optional<Call> call = leading_call(text);
  if (!call) refuse_text("what it compares is no call of a function");
  refuse_judge(call->name);
  if (depth > kMaxConversions) refuse_text("its calls are nested too deeply");
  // f(g(...)): nothing but the value of the one goes into the other.
  const std::optional<Call> inner = leading_call(call->inputs);
  if (use == SubjectUse::kValue && inner && !is_constructor(inner->name)) {
    check_call(call->inputs, use, depth + 1);
  } else {
    check_inputs(call->inputs);
  }
  check_rest(text.substr(call->end), is_class(call->name), use);
}

void check_converted(std::string_view text, SubjectUse use, int depth);

void check_conversion(const Call& call, SubjectUse use, int depth) {
  const std::vector<std::string_view> inputs = split_at(call.inputs, ",");
  if (inputs.empty()) refuse_text(str(call.name, " converts nothing"));
  check_converted(inputs[0], use, depth + 1);
  for (size_t i = 1; i < inputs.size(); ++i) {
    const bool is_order =
        call.name == "sorted" && (inputs[i].starts_with("key=") || inputs[i].starts_with("reverse="));
    const bool is_number_of_digits = call.name == "round" && i == 1 && parse_python_literal(inputs[i]);
    if (!is_order && !is_number_of_digits)
      refuse_text(str("beside its call ", call.name, " gets ", excerpt(inputs[i])));
    check_inputs(inputs[i]);
  }
}

void check_converted(std::string_view text, SubjectUse use, int depth) {
  text = strip_parentheses(text);
  if (depth > kMaxConversions) refuse_text("its calls are nested too deeply");
  const std::optional<Call> call = leading_call(text);
  // A function of the program's may have such a name, too: then nothing else is called.
  if (call && call->is_plain && is_conversion(call->name) && call->end == text.size() &&
      !find_further_call(call->inputs).empty()) {
    check_conversion(*call, use, depth);
    return;
  }
  const bool is_collection =
      (text.starts_with("(") || text.starts_with("[")) && skip_brackets(text, 0) == text.size();
  if (is_collection && text.size() > 2) {
    for (std::string_view item : split_at(text.substr(1, text.size() - 2), ","))
      check_converted(item, use, depth + 1);
    return;
  }
  const size_t quoted = text.starts_with('\'') || text.starts_with('"') ? skip_string(text, 0) : 0;
  if (quoted > 0 && text.substr(quoted).starts_with(".join(")) {
    const std::optional<Call> join = leading_call(text.substr(quoted + 1));
    if (quoted + 1 + join->end == text.size()) {
      check_converted(join->inputs, use, depth + 1);
      return;
    }
  }
  check_call(text, use, depth);
}

}  // namespace

void check_subject(std::string_view text, SubjectUse use) {
  if (use == SubjectUse::kTruth) {
    check_call(text, use, 0);
  } else {
    check_converted(text, use, 0);
  }
}

}  // namespace cohort
