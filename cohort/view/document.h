// A document of headings, tables, charts and texts, and its writers. All texts are plain; writers escape
// them.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/view/svg_chart.h"

namespace cohort {

struct Heading {
  int level = 2;  ///< 2 to 4; the title has level 1
  std::string text;
};

struct Paragraph {
  std::string text;
};

struct BulletList {
  std::vector<std::string> items;
};

/// The first column names its row.
struct Table {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

/// Text as it is: a completion, a command, a file.
struct CodeBlock {
  std::string caption;  ///< empty: none
  std::string text;
  std::string language{};  ///< for Markdown; empty: none
};

using Block = std::variant<Heading, Paragraph, BulletList, Table, CodeBlock, Chart>;

struct Document {
  std::string title;
  std::vector<Block> blocks;
};

/// One page without scripts and without anything from a network.
std::string to_html(const Document& document);

struct MarkdownFiles {
  std::string text;
  std::vector<std::pair<std::string, std::string>> charts;  ///< name and content of each SVG file
};

/// `chart_prefix` begins the names of the SVG files, which the text links to.
MarkdownFiles to_markdown(const Document& document, const std::string& chart_prefix);

}  // namespace cohort
