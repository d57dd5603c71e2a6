#include "cohort/rewards/judge/judge_prompt.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/rewards/judge/marks.h"

namespace cohort {
namespace {

constexpr std::string_view kRubric =
    "Judge how well the response answers the request: whether it is correct, complete and clear.\n"
    "\n"
    "The request:\n"
    "{prompt}\n"
    "\n"
    "The response:\n"
    "{completion}";

std::string value_of(const std::string& name, const Prompt& prompt, const Completion& completion) {
  if (name == "completion") return completion.text;
  if (name == "prompt") return prompt.text;
  return string_or_json(prompt.fields.at(name));
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + to_json_text(Json(name));
  return text;
}

std::string instructions(const JudgeScale& scale, const std::string& mark) {
  std::string example = R"({"reason": "one sentence")";
  for (const std::string& name : scale.criteria) example += str(", ", to_json_text(Json(name)), ": number");
  return str(data_warning(mark), "Score each criterion with a number from 0 (worst) to ", scale.max_score,
             " (best): ", listed(scale.criteria),
             ".\nAnswer with one JSON object and nothing after it: ", example, "}");
}

}  // namespace

JudgePrompt::JudgePrompt(const std::string& rubric, JudgeScale scale, const std::string& where)
    : rubric_(rubric.empty() ? std::string(kRubric) : read_rubric(rubric, where), where + "`rubric`: "),
      scale_(std::move(scale)) {
  const std::vector<std::string>& names = rubric_.names();
  if (std::find(names.begin(), names.end(), "completion") == names.end())
    throw ConfigError(str(where, "`rubric` does not show the {completion}"));
}

std::optional<std::string> JudgePrompt::refusal(const Prompt& prompt, const Completion& completion) const {
  constexpr size_t kMaxTextBytes = size_t{1} << 20;
  for (const std::string& name : rubric_.names()) {
    if (name == "completion" || name == "prompt") continue;
    if (!prompt.fields.contains(name) || prompt.fields.at(name).is_null())
      return str("the row has no column \"", name, "\" of the rubric");
  }
  if (completion.text.size() > kMaxTextBytes)
    return str("the completion has more than ", kMaxTextBytes, " bytes, too many for a judge");
  return std::nullopt;
}

Json JudgePrompt::messages(const Prompt& prompt, const Completion& completion) const {
  std::string everything;
  for (const std::string& name : rubric_.names()) everything += value_of(name, prompt, completion) + "\n";
  const std::string mark = mark_for(everything);
  const std::string text = rubric_.fill(
      [&](const std::string& name) { return between_marks(name, mark, value_of(name, prompt, completion)); });
  return Json::array({{{"role", "system"}, {"content", instructions(scale_, mark)}},
                      {{"role", "user"}, {"content", text + "\n"}}});
}

Json judge_answer_schema(const JudgeScale& scale) {
  Json properties = {{"reason", {{"type", "string"}}}};
  Json required = Json::array({"reason"});
  for (const std::string& name : scale.criteria) {
    properties[name] = {{"type", "number"}};
    required.push_back(name);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace cohort
