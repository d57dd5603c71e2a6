#include "cohort/tasks/dataset.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/tasks/dataset_scan.h"
#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

std::string name_of(const DataSource& source) {
  std::string name;
  for (const std::string& path : source.path) name += (name.empty() ? "" : ", ") + path;
  return name;
}

/// A column by its name or, where no column has it, by its path: names and places of lists joined by dots.
const Json* find_column(const Json& columns, const std::string& path) {
  if (const auto column = columns.find(path); column != columns.end()) return &*column;
  const Json* value = &columns;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string step = path.substr(begin, end - begin);
    begin = end + 1;
    if (value->is_array()) {
      const bool is_place =
          !step.empty() && step.size() < 7 && step.find_first_not_of("0123456789") == std::string::npos;
      if (!is_place || std::stoul(step) >= value->size()) return nullptr;
      value = &value->at(std::stoul(step));
    } else {
      const auto found = value->is_object() ? value->find(step) : value->end();
      if (!value->is_object() || found == value->end()) return nullptr;
      value = &*found;
    }
  }
  return value;
}

}  // namespace

Deduplicate parse_deduplicate(const std::string& name) {
  if (name == "none") return Deduplicate::kNone;
  if (name == "prompt") return Deduplicate::kPrompt;
  if (name == "row") return Deduplicate::kRow;
  throw ConfigError(str("unknown way to deduplicate \"", name, "\"; it must be none, prompt or row"));
}

Dataset::Dataset(const DatasetOptions& options, const MeasureRow& measure) {
  std::vector<std::string> all_paths;
  for (const DataSource& source : options.sources) {
    if (source.path.empty()) throw ConfigError("a data source has no path");
    all_paths.insert(all_paths.end(), source.path.begin(), source.path.end());
  }
  std::map<std::string, int> name_counts;
  for (const auto& path : expand_paths(all_paths)) ++name_counts[path.filename().string()];
  for (const DataSource& source : options.sources) {
    Source& opened = sources_.emplace_back(Source{source, {}});
    for (const auto& path : expand_paths(source.path)) {
      const std::string name = path.filename().string();
      opened.files.push_back({RowFile(path), name_counts[name] > 1 ? path.string() : name});
    }
    reports_.push_back({.name = name_of(source)});
  }
  DatasetScan(options, measure, *this).run();
}

int64_t Dataset::num_rows() const {
  return std::accumulate(reports_.begin(), reports_.end(), int64_t{0},
                         [](int64_t sum, const SourceReport& report) { return sum + report.num_used; });
}

std::vector<RowOrder::Source> Dataset::order() const {
  std::vector<RowOrder::Source> order;
  order.reserve(sources_.size());
  for (size_t s = 0; s < sources_.size(); ++s) {
    order.push_back({reports_[s].num_used, sources_[s].spec.weight});
  }
  return order;
}

Row Dataset::row(RowAddress address) const {
  const Source& source = sources_.at(address.source);
  const auto behind = std::upper_bound(source.files.begin(), source.files.end(), address.row,
                                       [](int64_t row, const File& file) { return row < file.first_row; });
  const File& file = *std::prev(behind);
  const int64_t index = address.row - file.first_row;
  const int64_t line = file.rows.line_number(index);
  Row row{file.rows.row(index), str(file.label, ":", line), str(file.rows.path().string(), ":", line)};
  apply_columns(row, source.spec);
  return row;
}

void apply_columns(Row& row, const DataSource& source) {
  std::vector<std::pair<std::string, Json>> renamed;
  for (const auto& [name, from] : source.columns) {
    const Json* column = find_column(row.columns, from);
    if (column == nullptr) {
      throw FormatError(str(row.where, ": the column ", to_json_text(from),
                            " is missing, from which columns.", name, " is taken"));
    }
    renamed.emplace_back(name, *column);
  }
  for (const auto& [name, from] : source.columns) row.columns.erase(from);
  for (auto& [name, value] : renamed) row.columns[name] = std::move(value);
  if (!source.domain.empty()) row.columns["domain"] = source.domain;
}

bool is_held_out(const std::string& prompt_key, double test_split_size) {
  // Another address than that of duplicates' hashes, which mean something else.
  return random_unit(0, {fnv1a(prompt_key), 1}) < test_split_size;
}

std::vector<Prompt> read_prompts(const std::filesystem::path& path, const TextFormat& format,
                                 const std::map<std::string, std::string>& columns) {
  const DataSource source{.path = {path.string()}, .weight = {}, .domain = "", .columns = columns};
  std::vector<Prompt> prompts;
  JsonlReader reader(path);
  const std::string label = path.filename().string();
  while (reader.next()) {
    Row row{reader.row(), str(label, ":", reader.line_number()), reader.where()};
    apply_columns(row, source);
    prompts.push_back(to_prompt(std::move(row), format));
  }
  if (prompts.empty()) throw FormatError(str(path.string(), ": holds no prompts"));
  return prompts;
}

}  // namespace cohort
