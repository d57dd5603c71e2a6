#include "cohort/serve/api/output_constraint.h"

#include "cohort/sampler/constraint_cache.h"
#include "cohort/serve/api/api_error.h"
#include "cohort/text/grammar/output_form.h"
#include "cohort/text/grammar/regex.h"
#include "cohort/text/tool_calls/call_grammar.h"
#include "libs/common/ascii.h"

namespace cohort {
namespace {

/// Any text up to the first place where `mark` is complete: a state for each beginning of the mark.
void add_text_until(Grammar& grammar, Grammar::State from, std::string_view mark, const Tokenizer& tokenizer,
                    Grammar::State to) {
  const auto special = tokenizer.token_id(std::string(mark));
  std::vector<Grammar::State> states = {from};
  for (size_t i = 1; i < mark.size(); ++i) states.push_back(grammar.add_state());
  states.push_back(to);
  for (size_t read = 0; read < mark.size(); ++read) {
    for (Symbol byte = 0; byte < kFirstSpecial; ++byte) {
      const std::string text = std::string(mark.substr(0, read)) + static_cast<char>(byte);
      size_t next = text.size();
      while (next > 0 && !std::string_view(text).ends_with(mark.substr(0, next))) --next;
      grammar.add_symbols(states[read], byte, byte, states[next]);
    }
    if (special && tokenizer.is_special(*special)) grammar.add_special(states[read], *special, to);
  }
}

/// `form` after the reasoning that the prompt opened.
OutputForm after_reasoning(const OutputForm& form, const ServedModel& model) {
  return {str("reasoning ", form.key),
          [&form, &model](Grammar& grammar, Grammar::State from, Grammar::State to) {
            const Grammar::State closed = grammar.add_state(), begin = grammar.add_state();
            add_text_until(grammar, from, trim(model.calls->reasoning_close), *model.tokenizer, closed);
            add_regex(grammar, closed, "\\n{0,2}", begin);
            form.write(grammar, begin, to);
          }};
}

void constrain(GenerationRequest& request, const OutputForm& form, const char* param,
               const ServedModel& model) {
  if (request.params.ignore_eos)
    throw ApiError(str("\"", param, "\" and \"ignore_eos\" exclude each other"), param);
  if (request.params.constraint != nullptr)
    throw ApiError(str("\"", param, "\": the answer is held to another form already"), param);
  try {
    request.params.constraint = model.constraints->find(
        request.opens_reasoning ? after_reasoning(form, model) : form, request.params.stop_token_ids);
  } catch (const UserError& error) {
    throw ApiError(str("\"", param, "\": ", error.what()), param);
  }
}

OutputForm read_structured_outputs(const Json& wanted) {
  try {
    return structured_output_form(wanted);
  } catch (const UserError& error) {
    throw ApiError(str("\"structured_outputs\": ", error.what()), "structured_outputs");
  }
}

}  // namespace

ToolChoice read_tool_choice(BodyReader& body) {
  const Json* choice = body.find("tool_choice");
  if (choice == nullptr || *choice == "auto") return {};
  if (*choice == "none") return {.may_call = false};
  if (*choice == "required") return {.must_call = true};
  if (choice->is_object() && choice->value("type", Json()) == "function") {
    const Json holder = choice->value("function", *choice);  // /v1/responses has the name beside the type
    const Json name = holder.is_object() ? holder.value("name", Json()) : Json();
    if (name.is_string()) return {.must_call = true, .name = name.get<std::string>()};
  }
  throw ApiError(str("\"tool_choice\" ", to_json_text(*choice),
                     " is not supported; use \"auto\", \"none\", \"required\" or the name of a function"),
                 "tool_choice");
}

void constrain_calls(GenerationRequest& request, const ToolChoice& choice, const ServedModel& model) {
  if (!choice.must_call) return;
  Json tools = Json::array();
  for (const Json& tool : request.tools) {
    if (choice.name.empty() || tool.at("function").at("name") == choice.name) tools.push_back(tool);
  }
  if (tools.empty())
    throw ApiError(choice.name.empty()
                       ? std::string("\"tool_choice\" asks for a call, and there are no tools")
                       : str("\"tool_choice\": no tool is named \"", choice.name, "\""),
                   "tool_choice");
  const bool is_parallel = request.allows_parallel_calls && choice.name.empty();
  const OutputForm form = {str("calls ", is_parallel, ' ', to_json_text(tools)),
                           [&](Grammar& grammar, Grammar::State from, Grammar::State to) {
                             add_tool_calls(grammar, from, *model.calls, tools, is_parallel, *model.tokenizer,
                                            to);
                           }};
  constrain(request, form, "tool_choice", model);
}

void constrain_output(BodyReader& body, GenerationRequest& request, const ServedModel& model) {
  if (const Json* format = body.find("response_format"))
    constrain_to_format(*format, "response_format", request, model);
  if (const Json* wanted = body.find("structured_outputs"))
    constrain(request, read_structured_outputs(*wanted), "structured_outputs", model);
}

void constrain_to_format(const Json& format, const char* param, GenerationRequest& request,
                         const ServedModel& model) {
  const Json type = format.is_object() ? format.value("type", Json()) : Json();
  if (type == "text") return;
  if (type == "json_object") return constrain(request, json_form(nullptr), param, model);
  if (type == "json_schema") {
    const Json holder = format.value("json_schema", format);
    if (holder.is_object() && holder.contains("schema"))
      return constrain(request, json_form(holder.at("schema")), param, model);
    throw ApiError(str("\"", param, "\" of the type json_schema needs a \"schema\""), param);
  }
  throw ApiError(str("\"", param, "\": the type ", to_json_text(type),
                     " is not supported; use text, json_object or json_schema"),
                 param);
}

}  // namespace cohort
