// jinja_lines < IN > OUT: lines {"template", "variables"} to lines {"text", "generated"} or {"error"}, for
// scripts that compare many templates with Jinja2 itself.
#include <iostream>

#include "cohort/core/json.h"
#include "libs/jinja/template.h"

int main() {
  using cohort::Json;
  int64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    const Json row = cohort::parse_json_line(line, "<stdin>", ++number);
    Json result;
    try {
      cohort::jinja::RenderOptions options;
      options.now.tm_year = 127;
      options.now.tm_mday = 4;
      const cohort::jinja::Template chat(row.at("template").get<std::string>());
      const auto rendered = chat.render(row.at("variables"), options);
      result = {{"text", rendered.text}, {"generated", Json::array()}};
      for (const auto& span : rendered.generated) result["generated"].push_back({span.start, span.end});
    } catch (const cohort::jinja::TemplateError& error) {
      result = {{"error", error.what()}};
    }
    std::cout << cohort::to_json_text(result) << "\n";
  }
  return 0;
}
