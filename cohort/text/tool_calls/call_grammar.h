// Turns that consist of tool calls, as a language.
#pragma once

#include "cohort/core/json.h"
#include "cohort/text/grammar/grammar.h"
#include "cohort/text/tokenizer.h"
#include "cohort/text/tool_calls/format.h"

namespace cohort {

/// Adds a mark of a form, which may be one special token.
void add_mark(Grammar& grammar, Grammar::State from, std::string_view mark, const Tokenizer& tokenizer,
              Grammar::State to);

/// Paths for one call, or for one and more if `is_parallel`, of any of these tools: entries of "tools" as
/// chat templates read them, whose parameters the arguments obey. Throws UserError for a form that is not
/// JSON (hermes, llama3 and json are), and for parameters as JsonSchemaGrammar does.
void add_tool_calls(Grammar& grammar, Grammar::State from, const ToolCallFormat& format, const Json& tools,
                    bool is_parallel, const Tokenizer& tokenizer, Grammar::State to);

}  // namespace cohort
