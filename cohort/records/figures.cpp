#include "cohort/records/figures.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "cohort/core/error.h"
#include "cohort/core/input_file.h"
#include "cohort/records/json_scan.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPartBytes = 1 << 20;

/// Steps come in order, but for a file that someone has put together.
void add_value(FigureColumn& column, int64_t step, double value) {
  if (column.steps.empty() || column.steps.back() < step) {
    column.steps.push_back(step);
    column.values.push_back(value);
    return;
  }
  const auto place = std::ranges::lower_bound(column.steps, step);
  const auto index = place - column.steps.begin();
  if (*place == step) {
    column.values[static_cast<size_t>(index)] = value;
  } else {
    column.steps.insert(place, step);
    column.values.insert(column.values.begin() + index, value);
  }
}

struct FigureLine {
  std::optional<int64_t> step;
  std::vector<std::pair<std::string_view, double>> values;
};

/// Nothing for a text that is no object. Members that are neither numbers nor null are left out.
std::optional<FigureLine> parse_figures(std::string_view text) {
  FigureLine line;
  JsonMembers members(text);
  while (members.next()) {
    if (members.key() == "step") {
      line.step = json_integer(members.value());
      continue;
    }
    const std::optional<double> number = members.number();
    if (number || members.value() == "null")
      line.values.emplace_back(members.key(), number.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  if (members.is_damaged()) return std::nullopt;
  return line;
}

}  // namespace

Figures::Figures(const fs::path& run) {
  for (const char* name : {"metrics.jsonl", "timings.jsonl"}) sources_.push_back({run / name, 0, 0, {}, {}});
}

bool Figures::update() {
  is_changed_ = false;
  try {
    // A name may be in both files, so that both are read again.
    while (!follow_all()) forget();
  } catch (const FormatError&) {
    version_ += is_changed_;
    throw;
  }
  version_ += is_changed_;
  return is_changed_;
}

void Figures::forget() {
  is_changed_ = is_changed_ || !columns_.empty();
  columns_.clear();
  last_step_ = 0;
  for (Source& source : sources_) source = {source.path, 0, 0, {}, {}};
}

/// False once a file is not the one that was read.
bool Figures::follow_all() {
  return std::ranges::all_of(sources_, [&](Source& source) { return follow(source); });
}

bool Figures::follow(Source& source) {
  if (!fs::exists(source.path)) return source.place == 0;
  const InputFile file(source.path);
  const std::string known = source.place > 0 ? source.last_line + "\n" : "";
  auto place = static_cast<uint64_t>(source.place) - known.size();
  std::string text;
  const auto read_more = [&] {
    const size_t size = text.size();
    text.resize(size + kPartBytes);
    const size_t count = file.read_at(text.data() + size, kPartBytes, place);
    text.resize(size + count);
    place += count;
    return count > 0;
  };
  while (text.size() < known.size() && read_more()) {
  }
  if (!text.starts_with(known)) return false;
  text.erase(0, known.size());
  do {
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      add_line(source, std::string_view(text).substr(begin, end - begin));
    text.erase(0, begin);
  } while (read_more());
  return true;
}

void Figures::add_line(Source& source, std::string_view text) {
  const std::optional<FigureLine> line = parse_figures(text);
  if (!line || !line->step) {
    throw FormatError(str(source.path.string(), ":", source.num_lines + 1,
                          ": must be a JSON object with a step; delete the line if it is damaged"));
  }
  if (source.order.size() < line->values.size()) source.order.resize(line->values.size());
  for (size_t i = 0; i < line->values.size(); ++i) {
    const auto& [key, value] = line->values[i];
    auto& [name, column] = source.order[i];
    if (column == nullptr || name != key) {
      name = key;
      column = &columns_[unescaped_json(key).value_or(name)];
    }
    add_value(*column, *line->step, value);
  }
  if (&source == &sources_.front()) last_step_ = *line->step;
  source.place += std::ssize(text) + 1;
  ++source.num_lines;
  source.last_line = text;
  is_changed_ = true;
}

std::vector<std::string> Figures::names() const {
  std::vector<std::string> names;
  for (const auto& [name, column] : columns_) names.push_back(name);
  return names;
}

const FigureColumn* Figures::find(std::string_view name) const {
  const auto found = columns_.find(name);
  return found != columns_.end() ? &found->second : nullptr;
}

}  // namespace cohort
