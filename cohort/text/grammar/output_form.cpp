#include "cohort/text/grammar/output_form.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/text/grammar/json_schema.h"
#include "cohort/text/grammar/regex.h"

namespace cohort {
namespace {

Json parsed_schema(const Json& value) {
  if (!value.is_string()) return value;
  Json schema = Json::parse(value.get_ref<const std::string&>(), nullptr, /*allow_exceptions=*/false);
  if (schema.is_discarded()) throw UserError("\"json\" is no JSON");
  return schema;
}

OutputForm form_of(const std::string& key, const Json& value) {
  if (key == "json") return json_form(parsed_schema(value));
  if (key == "json_object") return json_form(nullptr);
  if (key == "choice") return choice_form(value);
  if (key != "regex")
    throw UserError(str("\"", key, "\" is not supported; use json, json_object, regex or choice"));
  if (!value.is_string()) throw UserError("\"regex\" must be a text");
  return regex_form(value.get<std::string>());
}

}  // namespace

OutputForm json_form(Json schema) {
  std::string key = str("json ", to_json_text(schema));
  return {std::move(key),
          [schema = std::move(schema)](Grammar& grammar, Grammar::State from, Grammar::State to) {
            JsonSchemaGrammar(grammar, schema).add(from, to);
          }};
}

OutputForm regex_form(std::string pattern) {
  std::string key = str("regex ", pattern);
  return {std::move(key),
          [pattern = std::move(pattern)](Grammar& grammar, Grammar::State from, Grammar::State to) {
            add_regex(grammar, from, pattern, to);
          }};
}

OutputForm choice_form(const Json& texts) {
  const bool are_texts =
      texts.is_array() && !texts.empty() && std::ranges::all_of(texts, [](const Json& text) {
        return text.is_string() && !text.get_ref<const std::string&>().empty();
      });
  if (!are_texts) throw UserError("\"choice\" must be a list of texts, and not empty");
  return {str("choice ", to_json_text(texts)), [list = texts.get<std::vector<std::string>>()](
                                                   Grammar& grammar, Grammar::State from, Grammar::State to) {
            for (const std::string& text : list) grammar.add_text(from, text, to);
          }};
}

OutputForm structured_output_form(const Json& wanted) {
  if (!wanted.is_object()) throw UserError("it must be an object with json, json_object, regex or choice");
  OutputForm form;
  for (const auto& [key, value] : wanted.items()) {
    if (value.is_null() || value == false) continue;
    if (form.write != nullptr) throw UserError(str("\"", key, "\": there is another form already"));
    form = form_of(key, value);
  }
  if (form.write == nullptr) throw UserError("it names no form; use json, json_object, regex or choice");
  return form;
}

}  // namespace cohort
