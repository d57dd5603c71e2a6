#include "cohort/view/report.h"

#include <gtest/gtest.h>

#include <regex>

#include "cohort/core/error.h"
#include "tests/view/run_case.h"

namespace cohort {
namespace {

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t pos = text.find(part); pos != std::string::npos; pos = text.find(part, pos + 1)) ++count;
  return count;
}

TEST(Report, IsOneFileWithAllParts) {
  const RunCase run;
  const std::string html = html_report({run.path()});
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  for (const char* heading :
       {"What was trained", "How", "Result", "Curves", "Examples", "Health", "How to repeat it"})
    EXPECT_NE(html.find(std::string("<h2>") + heading + "</h2>"), std::string::npos) << heading;
  EXPECT_EQ(count_of(html, "<h1>"), 1u);
  EXPECT_LT(html.size(), 5u << 20);
  // Nothing is loaded, and nothing runs.
  EXPECT_EQ(count_of(html, "<script"), 0u);
  EXPECT_EQ(count_of(html, "src="), 0u);
  EXPECT_EQ(count_of(html, "href="), 0u);
  EXPECT_EQ(count_of(html, "http://") + count_of(html, "https://"),
            count_of(html, "xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(count_of(html, "<table>"), count_of(html, "<caption>"));
  EXPECT_NE(html.find("cohort train recipe.toml"), std::string::npos);
  EXPECT_NE(html.find("preset = &quot;grpo&quot;"), std::string::npos);
}

TEST(Report, SaysWhatChanged) {
  const RunCase run;
  std::vector<RunView> runs = open_runs({run.path()});
  const Document document = report_document(runs);
  const auto& first = std::get<Paragraph>(document.blocks.front());
  // Six steps: the first three and the last three, all of which are the same.
  EXPECT_EQ(first.text, "reward went from 0.5 ± 0 to 1 ± 0 from the first to the last tenth of the steps.");
}

TEST(Report, ChoosesExamples) {
  const RunCase run;
  const MarkdownFiles report = markdown_report({run.path()}, "report-");
  const std::string& text = report.text;
  const size_t solved = text.find("### Solved before and after"), newly = text.find("### Newly solved"),
               failing = text.find("### Still failing");
  ASSERT_NE(solved, std::string::npos);
  ASSERT_NE(newly, std::string::npos);
  ASSERT_NE(failing, std::string::npos);
  EXPECT_NE(text.substr(solved, newly - solved).find("Prompt easy"), std::string::npos);
  const std::string story = text.substr(newly, failing - newly);
  EXPECT_NE(story.find("Prompt hard"), std::string::npos);
  EXPECT_LT(story.find("6 * 7 = 13"), story.find("6 * 7 = 42"));
  EXPECT_NE(text.substr(failing).find("Prompt never"), std::string::npos);
}

TEST(Report, ShowsHostileTextsAsText) {
  RunCase run;
  const std::string hostile =
      "</pre><script>alert(1)</script>\u202E\x1b[2J" + std::string(1, '\0') + "```\n# heading";
  run.add(completion_line(7, "bad<b>", 0, -0.5, "0"));
  Json last = completion_line(8, "bad<b>", 0, 1.0, "1");
  last["completion"] = hostile;
  run.add(last);
  run.write();
  EXPECT_NE(html_report({run.path()}).find("&lt;script&gt;alert(1)"), std::string::npos);
  for (const std::string& text : {html_report({run.path()}), markdown_report({run.path()}, "r-").text}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\0'), std::string::npos);
    EXPECT_EQ(text.find("\u202E"), std::string::npos);
  }
  EXPECT_EQ(html_report({run.path()}).find("<script"), std::string::npos);
}

TEST(Report, ComparesRuns) {
  const RunCase first, second;
  write_text(second.path() / "config.toml", read_text(second.path() / "config.toml").replace(7, 1, "4"));
  const std::string text = markdown_report({first.path(), second.path()}, "r-").text;
  EXPECT_NE(text.find("mean over runs"), std::string::npos);
  const std::string row = "| seed | " + second.path().filename().string().replace(6, 1, "\\-") + " | 4 |";
  EXPECT_NE(text.find(row), std::string::npos) << row << "\n" << text;
}

TEST(Report, WritesFiles) {
  const RunCase run;
  const TemporaryDirectory folder;
  const auto html = write_report({run.path()}, folder.path() / "report.html");
  EXPECT_EQ(html, (std::vector<std::filesystem::path>{folder.path() / "report.html"}));
  const auto files = write_report({run.path()}, folder.path() / "notes.md");
  ASSERT_GT(files.size(), 2u);
  const std::string text = read_text(folder.path() / "notes.md");
  for (size_t i = 1; i < files.size(); ++i) {
    EXPECT_NE(text.find("](<" + files[i].filename().string() + ">)"), std::string::npos);
    EXPECT_TRUE(read_text(files[i]).starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"")) << files[i];
  }
  EXPECT_THROW(write_report({run.path()}, folder.path() / "report.pdf"), ConfigError);
}

TEST(Report, OfARunThatHasNotBegun) {
  const TemporaryDirectory run;
  write_text(run.path() / "config.toml", "seed = 1\n");
  const std::string html = html_report({run.path()});
  EXPECT_NE(html.find("no figure of a result yet"), std::string::npos);
  EXPECT_NE(html.find("The run recorded no completions."), std::string::npos);
}

}  // namespace
}  // namespace cohort
