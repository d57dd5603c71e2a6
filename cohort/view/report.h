// A report of runs for a mail or a paper: what was trained, how, the result with its uncertainty, curves,
// examples, health and how to repeat it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cohort/view/document.h"
#include "cohort/view/run_view.h"

namespace cohort {

struct ReportOptions {
  std::vector<std::filesystem::path> evaluations{};  ///< files of `cohort eval --output`
  std::string version{};  ///< of the program that writes the report; empty: not told
};

/// The report of at least one run. Throws FormatError for damaged records and for a file that is no
/// evaluation.
Document report_document(std::span<RunView> runs, const ReportOptions& options = {});

/// One HTML file of at most 5 MiB, without scripts and without anything from a network. Throws ConfigError
/// for a directory without a run, and FormatError for damaged records and files.
std::string html_report(const std::vector<std::filesystem::path>& runs, const ReportOptions& options = {});

/// The same as Markdown with SVG files, whose names begin with `chart_prefix`. Throws as above.
MarkdownFiles markdown_report(const std::vector<std::filesystem::path>& runs, const std::string& chart_prefix,
                              const ReportOptions& options = {});

/// Writes the report to a file that ends in .html, or in .md with its charts beside it, and returns the
/// files. Throws ConfigError for another ending, for a folder that does not exist, for a directory without a
/// run, and FormatError for damaged records and for files that cannot be written.
std::vector<std::filesystem::path> write_report(const std::vector<std::filesystem::path>& runs,
                                                const std::filesystem::path& output,
                                                const ReportOptions& options = {});

}  // namespace cohort
