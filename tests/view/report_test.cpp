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
  EXPECT_EQ(first.text, "reward went from 0.5 ± 0 to 1 ± 0 from the first 3 to the last 3 steps.");
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
  EXPECT_NE(story.find("Step 1, the worst of the group: reward 0"), std::string::npos) << story;
  EXPECT_NE(story.find("Step 6, the best of the group: reward 1"), std::string::npos) << story;
  EXPECT_NE(text.substr(failing).find("Prompt never"), std::string::npos);
}

TEST(Report, DemonstrationsAreNoExamples) {
  RunCase run;
  Json taught = completion_line(6, "hard", 2, 5.0, "42, of course");
  taught["demonstration"] = true;
  run.add(taught);
  run.write();
  const std::string text = markdown_report({run.path()}, "r-").text;
  EXPECT_EQ(text.find("of course"), std::string::npos);
  EXPECT_NE(text.find("at least 0.5, halfway"), std::string::npos) << text;
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

void replace_in_recipe(const RunCase& run, const std::string& old, const std::string& text) {
  std::string recipe = read_text(run.path() / "config.toml");
  const size_t place = recipe.find(old);
  ASSERT_NE(place, std::string::npos);
  write_text(run.path() / "config.toml", recipe.replace(place, old.size(), text));
}

/// The first block's lines.
std::vector<std::string> headlines(const std::vector<std::filesystem::path>& paths) {
  std::vector<RunView> runs = open_runs(paths);
  const Document document = report_document(runs);
  if (const auto* list = std::get_if<BulletList>(&document.blocks.front())) return list->items;
  return {std::get<Paragraph>(document.blocks.front()).text};
}

TEST(Report, AveragesSeedsOfOneRecipe) {
  const RunCase first, second;
  replace_in_recipe(second, "seed = 3", "seed = 4");
  write_text(second.path() / "config.toml",
             read_text(second.path() / "config.toml") + "[run]\ndir = \"elsewhere\"\n");
  const auto lines = headlines({first.path(), second.path()});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("reward went from ")) << lines[0];
  EXPECT_NE(lines[0].find("first 3 to the last 3 steps (mean over 2 runs)."), std::string::npos) << lines[0];
  const std::string text = markdown_report({first.path(), second.path()}, "r-").text;
  EXPECT_NE(text.find("| mean over runs |"), std::string::npos);
  EXPECT_EQ(count_of(text, "| seed | 3 | 4 |"), 2u) << text;  // a property, and the only other setting
  EXPECT_EQ(text.find("| run.dir |"), std::string::npos);
}

TEST(Report, AveragesNothingElse) {
  const RunCase first, second, third;
  replace_in_recipe(second, "beta = 0.0", "beta = 0.1");
  const auto lines = headlines({first.path(), second.path()});
  ASSERT_EQ(lines.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(lines[i].starts_with((i == 0 ? first : second).path().filename().string() + ": reward went"));
    EXPECT_EQ(lines[i].find("mean over"), std::string::npos) << lines[i];
  }
  const std::string text = markdown_report({first.path(), second.path()}, "r-").text;
  EXPECT_EQ(text.find("| mean over"), std::string::npos) << text;
  EXPECT_NE(text.find("no mean over runs is given"), std::string::npos);
  // Two of three runs repeat a recipe.
  replace_in_recipe(third, "seed = 3", "seed = 4");
  EXPECT_EQ(headlines({first.path(), second.path(), third.path()}).size(), 2u);
}

TEST(Report, SaysHowToRepeatEachRun) {
  const RunCase first, second, other;
  replace_in_recipe(second, "beta = 0.0", "gamma = 0.5");
  write_text(other.path() / "config.toml", "seed = 5\n[train]\nsequences_per_step = 4\n");
  const std::string text =
      markdown_report({first.path(), second.path(), other.path()}, "r-", {{}, "1.2.3"}).text;
  EXPECT_NE(text.find("cohort 1.2.3"), std::string::npos) << text;
  EXPECT_NE(text.find("in which the run was started"), std::string::npos);
  EXPECT_NE(text.find("| objective.beta | 0.0 | \\- |"), std::string::npos) << text;
  EXPECT_NE(text.find("| objective.gamma | \\- | 0.5 |"), std::string::npos) << text;
  EXPECT_EQ(count_of(text, "cohort train recipe.toml"), 1u);
  EXPECT_EQ(count_of(text, "cohort sft recipe.toml"), 1u);
  EXPECT_NE(text.find("sequences_per_step = 4"), std::string::npos);
}

TEST(Report, ShowsEvaluations) {
  const RunCase run;
  const TemporaryDirectory folder;
  const auto before = folder.path() / "before.json", after = folder.path() / "after.json";
  const std::string statuses = R"("reward_statuses":{"ok":2048,"error":0}})";
  write_text(before, R"({"model":"warm","input":"test.jsonl","num_prompts":512,"reward":"countdown",)"
                     R"("mean":0.125,"pass@k":{"1":0.125,"4":0.5},)" +
                         statuses);
  write_text(after, R"({"model":"grpo","input":"test.jsonl","num_prompts":512,"mean":0.75,"rewards":{)"
                    R"("a":{"mean":null,"pass@k":{"1":1.0},"reward_statuses":{"ok":9,"error":1}},)"
                    R"("b":{"mean":0.25,"pass@k":{"1":1.0},"cons@k":{"2":0.5},)" +
                        statuses + "}}");
  std::vector<RunView> runs = open_runs({run.path()});
  const Document document = report_document(runs, {{before, after}, ""});
  const auto found = std::ranges::find_if(document.blocks, [](const Block& block) {
    const auto* table = std::get_if<Table>(&block);
    return table != nullptr && table->header.front() == "file";
  });
  ASSERT_NE(found, document.blocks.end());
  using Rows = std::vector<std::vector<std::string>>;
  const std::string b = before.string(), a = after.string(), t = "test.jsonl";
  // statsmodels.stats.proportion.proportion_confint(64, 512, method="wilson") is 0.0991, 0.1565
  EXPECT_EQ(std::get<Table>(*found).rows,
            (Rows{{b, "warm", t, "512", "countdown: mean", "0.125", "none"},
                  {b, "warm", t, "512", "countdown: pass@1", "0.125", "0.0991 to 0.1565"},
                  {b, "warm", t, "512", "countdown: pass@4", "0.5", "0.4569 to 0.5431"},
                  {a, "grpo", t, "512", "mean of the weighted sum", "0.75", "none"},
                  {a, "grpo", t, "512", "a: mean", "-", "none"},
                  {a, "grpo", t, "512", "a: pass@1", "1", "none"},
                  {a, "grpo", t, "512", "b: mean", "0.25", "none"},
                  {a, "grpo", t, "512", "b: pass@1", "1", "0.9926 to 1"},
                  {a, "grpo", t, "512", "b: cons@2", "0.5", "none"}}));
  for (const char* wrong :
       {"{}", "[]", R"({"model":"m","mean":1,"pass@k":[1]})", R"({"model":"m","mean":1,"num_prompts":"x"})",
        R"({"model":"m","mean":1,"rewards":{"a":3}})"}) {
    write_text(before, wrong);
    EXPECT_THROW(report_document(runs, {{before}, ""}), FormatError) << wrong;
  }
  EXPECT_THROW(report_document(runs, {{folder.path() / "missing.json"}, ""}), FormatError);
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
  try {
    write_report({run.path()}, folder.path() / "missing" / "report.html");
    ADD_FAILURE() << "a folder that does not exist";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("--output"), std::string::npos) << text;
    EXPECT_NE(text.find("there is no folder " + (folder.path() / "missing").string()), std::string::npos)
        << text;
  }
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
