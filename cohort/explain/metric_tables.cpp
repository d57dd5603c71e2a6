#include "cohort/explain/metric_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>

#include "cohort/core/error.h"

namespace cohort {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// The cells of "| a | b |"; `\|` is a bar inside a cell.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::string cell;
  for (size_t i = 1; i < line.size(); ++i) {
    const bool is_escaped = line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|';
    if (is_escaped) ++i;
    if (line[i] == '|' && !is_escaped) {
      cells.push_back(trimmed(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

/// The names in a cell, whole: one that begins with a slash, or has none, shares the folder of the name
/// before it.
std::vector<std::string> names_of(const std::string& cell) {
  std::vector<std::string> names;
  std::string folder;
  for (size_t begin = cell.find('`'); begin != std::string::npos; begin = cell.find('`', begin + 1)) {
    const size_t end = cell.find('`', begin + 1);
    if (end == std::string::npos) break;
    std::string name = cell.substr(begin + 1, end - begin - 1);
    if (name.starts_with('/')) name.erase(0, 1);
    if (name.find('/') == std::string::npos) name.insert(0, folder);
    folder = name.substr(0, name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1);
    names.push_back(std::move(name));
    begin = end;
  }
  return names;
}

/// Where the texts of a row go.
class Table {
 public:
  explicit Table(const std::vector<std::string>& header) : header_(header) {}

  void add_row(const std::string& line, const std::string& section, std::vector<MetricInfo>& infos) const {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != header_.size())
      throw FormatError(str("the table of \"", section, "\" has ", header_.size(), " columns, and a row has ",
                            cells.size(), " cells: ", line));
    const std::vector<std::string> names = names_of(cells.front());
    if (names.empty()) throw FormatError(str("a row of \"", section, "\" has no name: ", line));
    for (const std::string& name : names) {
      MetricInfo info;
      info.name = name;
      info.section = section;
      for (size_t i = 1; i < cells.size(); ++i) set(info, header_[i], cells[i]);
      infos.push_back(std::move(info));
    }
  }

 private:
  static void set(MetricInfo& info, const std::string& column, const std::string& text) {
    static const std::map<std::string, std::string MetricInfo::*> members{
        {"Definition", &MetricInfo::definition},
        {"Denominator", &MetricInfo::denominator},
        {"Healthy", &MetricInfo::healthy},
        {"Otherwise", &MetricInfo::otherwise}};
    const auto member = members.find(column);
    if (member != members.end() && text != "-") info.*member->second = text;
  }

  std::vector<std::string> header_;
};

}  // namespace

std::vector<MetricInfo> read_metric_tables(std::string_view page) {
  std::vector<MetricInfo> infos;
  std::string section;
  std::vector<std::string> header;  // of the present table; empty outside
  std::istringstream lines{std::string(page)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) section = trimmed(line.substr(line.find_first_not_of('#')));
    if (!line.starts_with('|')) {
      header.clear();
    } else if (line.starts_with("| Name |")) {
      header = cells_of(line);
    } else if (!header.empty() && !line.starts_with("|---")) {
      Table(header).add_row(line, section, infos);
    }
  }
  return infos;
}

}  // namespace cohort
