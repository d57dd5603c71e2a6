#include "cohort/tasks/dataset.h"

#include <fstream>

namespace cohort {
namespace {

Prompt to_prompt(Json row, const std::string& place, const std::string& id, const Tokenize& tokenize) {
  if (!row.is_object()) throw FormatError(str(place, ": the line must be a JSON object"));
  auto column = row.find("prompt");
  if (column == row.end()) throw FormatError(str(place, ": the column \"prompt\" is missing"));
  if (!column->is_string()) {
    throw FormatError(str(place, ": the column \"prompt\" must be a string, not ", column->type_name()));
  }
  Prompt prompt;
  prompt.id = id;
  prompt.text = column->get<std::string>();
  prompt.token_ids = tokenize(prompt.text);
  if (prompt.token_ids.empty()) throw FormatError(str(place, ": the prompt has no tokens"));
  row.erase("prompt");
  prompt.fields = std::move(row);
  return prompt;
}

}  // namespace

std::vector<Prompt> read_prompts(const std::filesystem::path& path, const Tokenize& tokenize) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FormatError(str(path.string(), ": cannot be opened"));
  std::vector<Prompt> prompts;
  std::string line;
  for (int64_t line_number = 1; std::getline(file, line); ++line_number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::string place = str(path.string(), ":", line_number);
    std::string id = str(path.filename().string(), ":", line_number);
    prompts.push_back(to_prompt(parse_json_line(line, path, line_number), place, id, tokenize));
  }
  if (file.bad()) throw FormatError(str(path.string(), ": cannot be read"));
  if (prompts.empty()) throw FormatError(str(path.string(), ": holds no prompts"));
  return prompts;
}

}  // namespace cohort
