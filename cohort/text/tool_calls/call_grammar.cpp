#include "cohort/text/tool_calls/call_grammar.h"

#include <algorithm>
#include <array>

#include "cohort/core/error.h"
#include "cohort/text/grammar/json_schema.h"

namespace cohort {
namespace {

/// How a form writes calls that are JSON objects.
struct JsonCalls {
  std::string_view name;
  std::string_view open;
  std::string_view close;
  std::string_view between;  ///< empty: a turn has one call
  const char* arguments;
};

constexpr auto kJsonCalls = std::to_array<JsonCalls>({
    {"hermes", "<tool_call>", "</tool_call>", "\n", "arguments"},
    {"llama3", "", "", "; ", "parameters"},
    {"json", "", "", "", "arguments"},
});

void add_object(Grammar& grammar, Grammar::State from, const Json& tool, const char* arguments,
                Grammar::State to) {
  const Json& function = tool.at("function");
  const std::string name = to_json_text(function.at("name"));
  const Grammar::State begin = grammar.add_state(), end = grammar.add_state();
  grammar.add_text(from, str("{\"name\": ", name, ", \"", arguments, "\": "), begin);
  const auto parameters = function.find("parameters");
  const Json any;
  try {
    JsonSchemaGrammar(grammar, parameters == function.end() ? any : *parameters).add(begin, end);
  } catch (const UserError& error) {
    throw UserError(str("the parameters of ", name, ": ", error.what()));
  }
  grammar.add_text(end, "}", to);
}

}  // namespace

void add_mark(Grammar& grammar, Grammar::State from, std::string_view mark, const Tokenizer& tokenizer,
              Grammar::State to) {
  const auto id = tokenizer.token_id(std::string(mark));
  if (id && tokenizer.is_special(*id)) {
    grammar.add_special(from, *id, to);
  } else {
    grammar.add_text(from, mark, to);
  }
}

void add_tool_calls(Grammar& grammar, Grammar::State from, const ToolCallFormat& format, const Json& tools,
                    bool is_parallel, const Tokenizer& tokenizer, Grammar::State to) {
  const auto form = std::ranges::find(kJsonCalls, std::string_view(format.name), &JsonCalls::name);
  if (form == kJsonCalls.end())
    throw UserError(str("a call can't be forced in the form ", format.name, "; use \"auto\""));
  const Grammar::State begin = grammar.add_state(), end = grammar.add_state();
  grammar.add_skip(from, begin);
  Grammar::State object = begin, object_end = end;
  if (!form->open.empty()) {
    const Grammar::State opened = grammar.add_state(), line = grammar.add_state();
    add_mark(grammar, begin, form->open, tokenizer, opened);
    grammar.add_text(opened, "\n", object = grammar.add_state());
    grammar.add_text(object_end = grammar.add_state(), "\n", line);
    add_mark(grammar, line, form->close, tokenizer, end);
  }
  for (const Json& tool : tools) add_object(grammar, object, tool, form->arguments, object_end);
  if (is_parallel && !form->between.empty()) grammar.add_text(end, form->between, begin);
  grammar.add_skip(end, to);
}

}  // namespace cohort
