#include "cohort/view/document.h"
#include "cohort/view/markup.h"

namespace cohort {
namespace {

class MarkdownWriter {
 public:
  explicit MarkdownWriter(std::string chart_prefix) : chart_prefix_(std::move(chart_prefix)) {}

  MarkdownFiles take() { return std::move(files_); }

  void operator()(const Heading& heading) {
    add(std::string(static_cast<size_t>(heading.level), '#') + " " + escape_markdown(heading.text) + "\n");
  }

  void operator()(const Paragraph& paragraph) { add(escape_markdown(paragraph.text) + "\n"); }

  void operator()(const BulletList& list) {
    std::string text;
    for (const std::string& item : list.items) text += "- " + escape_markdown(item) + "\n";
    add(text);
  }

  void operator()(const Table& table) {
    std::string text = escape_markdown(table.caption) + "\n\n" + row_of(table.header) + "|";
    for (size_t i = 0; i < table.header.size(); ++i) text += "---|";
    text += "\n";
    for (const std::vector<std::string>& row : table.rows) text += row_of(row);
    add(text);
  }

  void operator()(const CodeBlock& code) {
    add((code.caption.empty() ? "" : escape_markdown(code.caption) + "\n\n") +
        markdown_code(code.text, code.language));
  }

  void operator()(const Chart& chart) {
    const std::string name = chart_prefix_ + chart.id + ".svg";
    files_.charts.emplace_back(name, svg_chart(chart) + "\n");
    std::string text = "![" + escape_markdown(chart.title) + "](<" + name + ">)\n\n" +
                       escape_markdown(chart.title) + ": " + escape_markdown(chart.description) + "\n";
    for (size_t i = 0; chart.series.size() > 1 && i < chart.series.size(); ++i)
      text += (i == 0 ? "\n- " : "- ") + escape_markdown(chart_look(i) + ": " + chart.series[i].name) + "\n";
    add(text);
  }

 private:
  void add(const std::string& text) { files_.text += "\n" + text; }

  static std::string row_of(const std::vector<std::string>& cells) {
    std::string row = "|";
    for (const std::string& cell : cells) row += " " + escape_markdown(cell) + " |";
    return row + "\n";
  }

  std::string chart_prefix_;
  MarkdownFiles files_;
};

}  // namespace

MarkdownFiles to_markdown(const Document& document, const std::string& chart_prefix) {
  MarkdownWriter writer(chart_prefix);
  for (const Block& block : document.blocks) std::visit(writer, block);
  MarkdownFiles files = writer.take();
  files.text = "# " + escape_markdown(document.title) + "\n" + files.text;
  return files;
}

}  // namespace cohort
