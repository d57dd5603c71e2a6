#include "cohort/view/report.h"

#include "cohort/core/atomic_file.h"
#include "cohort/core/error.h"
#include "cohort/view/report_parts.h"

namespace cohort {
namespace {

void append(std::vector<Block>& blocks, std::vector<Block> more) {
  for (Block& block : more) blocks.push_back(std::move(block));
}

std::string title_of(std::span<const RunView> runs) {
  if (runs.size() == 1) return "Report of the run " + runs.front().name();
  std::string names;
  for (size_t i = 0; i < runs.size() && i < 4; ++i) names += (i == 0 ? "" : ", ") + runs[i].name();
  return str("Report of ", runs.size(), " runs: ", names, runs.size() > 4 ? ", …" : "");
}

}  // namespace

Document report_document(std::span<RunView> runs, const ReportOptions& options) {
  COHORT_CHECK(!runs.empty());
  Document document{title_of(runs), {}};
  std::vector<Block>& blocks = document.blocks;
  blocks.push_back(headline(runs));
  blocks.push_back(Heading{2, "What was trained"});
  blocks.push_back(properties_table(runs));
  blocks.push_back(Heading{2, "How"});
  blocks.push_back(settings_table(runs));
  blocks.push_back(Heading{2, "Result"});
  if (!options.evaluations.empty()) blocks.push_back(evaluations_table(options.evaluations));
  blocks.push_back(
      Paragraph{"A mean has its 95 % interval (Student's t over steps, as if they were independent). "
                "Evaluations are single values."});
  if (runs.size() > 1) blocks.push_back(Paragraph{averaging_text(runs)});
  blocks.push_back(result_table(runs));
  blocks.push_back(Heading{2, "Curves"});
  for (Chart& chart : curves(runs)) blocks.push_back(std::move(chart));
  blocks.push_back(Heading{2, "Examples"});
  append(blocks, examples(runs.front()));
  blocks.push_back(Heading{2, "Health"});
  for (RunView& run : runs) append(blocks, health(run));
  blocks.push_back(Heading{2, "How to repeat it"});
  append(blocks, repetition(runs, options.version));
  return document;
}

std::string html_report(const std::vector<std::filesystem::path>& runs, const ReportOptions& options) {
  std::vector<RunView> views = open_runs(runs);
  return to_html(report_document(views, options));
}

MarkdownFiles markdown_report(const std::vector<std::filesystem::path>& runs, const std::string& chart_prefix,
                              const ReportOptions& options) {
  std::vector<RunView> views = open_runs(runs);
  return to_markdown(report_document(views, options), chart_prefix);
}

std::vector<std::filesystem::path> write_report(const std::vector<std::filesystem::path>& runs,
                                                const std::filesystem::path& output,
                                                const ReportOptions& options) {
  const std::string ending = output.extension().string();
  if (ending != ".html" && ending != ".md")
    throw ConfigError(str("the report ", output.string(), " ends in \"", ending,
                          "\"; give a name that ends in .html or .md"));
  const std::filesystem::path folder = output.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw ConfigError(
        str("--output ", output.string(), ": there is no folder ", folder.string(), "; make it first"));
  if (ending == ".html") {
    write_file_atomically(output, html_report(runs, options));
    return {output};
  }
  const MarkdownFiles files = markdown_report(runs, output.stem().string() + "-", options);
  std::vector<std::filesystem::path> written{output};
  for (const auto& [name, svg] : files.charts) {
    written.push_back(output.parent_path() / name);
    write_file_atomically(written.back(), svg);
  }
  write_file_atomically(output, files.text);
  return written;
}

}  // namespace cohort
