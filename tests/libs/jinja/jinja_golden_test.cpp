// Small templates against Jinja2 itself: tests/libs/jinja/golden/jinja.jsonl, by
// tools/make_golden/jinja_golden.py.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "libs/jinja/template.h"

namespace cohort::jinja {
namespace {

Json outcome_of(const std::string& source, const Json& variables) {
  try {
    const Rendered rendered = Template(source).render(variables, {});
    Json result = {{"text", rendered.text}, {"generated", Json::array()}};
    for (const GeneratedSpan& span : rendered.generated)
      result["generated"].push_back({span.start, span.end});
    return result;
  } catch (const TemplateError& error) {
    return {{"refused", true}, {"message", error.what()}};
  }
}

TEST(JinjaGolden, EveryTemplateGivesWhatJinjaGives) {
  std::vector<Json> records;
  std::ifstream file(COHORT_SOURCE_DIR "/tests/libs/jinja/golden/jinja.jsonl");
  for (std::string line; std::getline(file, line);) records.push_back(Json::parse(line));
  ASSERT_GT(records.size(), 300U);
  for (size_t i = 1; i < records.size(); ++i) {
    const auto source = records[i].at("template").get<std::string>();
    const Json outcome = outcome_of(source, records[0].at("variables"));
    if (records[i].contains("refused")) {
      EXPECT_TRUE(outcome.contains("refused")) << source << "\ngave " << outcome.dump();
    } else {
      EXPECT_EQ(outcome.value("text", "refused"), records[i].at("text").get<std::string>()) << source << "\n"
                                                                                            << outcome.dump();
      EXPECT_EQ(outcome.value("generated", Json()), records[i].at("generated")) << source;
    }
  }
}

}  // namespace
}  // namespace cohort::jinja
