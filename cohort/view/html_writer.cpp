#include "cohort/view/document.h"
#include "cohort/view/markup.h"

namespace cohort {
namespace {

constexpr const char* kPageStyle = R"(
:root{color-scheme:light dark;--ink:#1b1b1f;--paper:#fff;--soft:#f2f3f5;--line:#c9ccd1;--quiet:#54565c}
@media(prefers-color-scheme:dark){:root{--ink:#e6e6ea;--paper:#17181b;--soft:#24262a;--line:#4a4d54;--quiet:#b4b6bd}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.25rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}
h3{font-size:1.05rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--quiet);padding-bottom:.3rem}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
thead th{background:var(--soft)}tbody th{font-weight:500}
pre{background:var(--soft);padding:.8rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}
figure{margin:1.2rem 0}figcaption{color:var(--quiet)}
svg.cohort-chart{width:100%;height:auto;background:var(--soft)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:.3rem 0;list-style:none;font-size:.85rem}
@media print{h2{break-after:avoid}figure,pre,table{break-inside:avoid}}
)";

class HtmlWriter {
 public:
  std::string take() { return std::move(html_); }

  void operator()(const Heading& heading) {
    const std::string tag = "h" + std::to_string(heading.level);
    html_ += element(tag, heading.text) + "\n";
  }

  void operator()(const Paragraph& paragraph) { html_ += element("p", paragraph.text) + "\n"; }

  void operator()(const BulletList& list) {
    html_ += "<ul>\n";
    for (const std::string& item : list.items) html_ += element("li", item) + "\n";
    html_ += "</ul>\n";
  }

  void operator()(const Table& table) {
    html_ += "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"" + escape_html(table.caption) +
             "\"><table>" + element("caption", table.caption) + "\n<thead><tr>";
    for (const std::string& cell : table.header) html_ += "<th scope=\"col\">" + escape_html(cell) + "</th>";
    html_ += "</tr></thead>\n<tbody>\n";
    for (const std::vector<std::string>& row : table.rows) {
      html_ += "<tr>";
      for (size_t i = 0; i < row.size(); ++i)
        html_ += i == 0 ? "<th scope=\"row\">" + escape_html(row[i]) + "</th>" : element("td", row[i]);
      html_ += "</tr>\n";
    }
    html_ += "</tbody></table></div>\n";
  }

  void operator()(const CodeBlock& code) {
    html_ += "<figure>";
    if (!code.caption.empty()) html_ += element("figcaption", code.caption);
    html_ += "<pre tabindex=\"0\">" + escape_html(code.text) + "</pre></figure>\n";
  }

  void operator()(const Chart& chart) {
    html_ += "<figure>" + svg_chart(chart) + element("figcaption", chart.title + ": " + chart.description);
    if (chart.series.size() > 1) {
      html_ += "<ul class=\"legend\">";
      for (size_t i = 0; i < chart.series.size(); ++i)
        html_ += "<li>" + chart_key(i) + " " + escape_html(chart.series[i].name) + "</li>";
      html_ += "</ul>";
    }
    html_ += "</figure>\n";
  }

 private:
  static std::string element(const std::string& tag, const std::string& text) {
    return "<" + tag + ">" + escape_html(text) + "</" + tag + ">";
  }

  std::string html_;
};

}  // namespace

std::string to_html(const Document& document) {
  HtmlWriter writer;
  for (const Block& block : document.blocks) std::visit(writer, block);
  const std::string title = escape_html(document.title);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'\">\n"
         "<title>" +
         title + "</title>\n<style>" + kPageStyle + "</style>\n</head>\n<body>\n<main>\n<h1>" + title +
         "</h1>\n" + writer.take() + "</main>\n</body>\n</html>\n";
}

}  // namespace cohort
