#include "cohort/tasks/dataset_scan.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "cohort/core/error.h"
#include "libs/common/hash.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

constexpr size_t kLinesPerBatch = 4096;
constexpr size_t kBytesPerBatch = size_t{8} << 20;

uint64_t uniform_hash(std::string_view text) { return random_bits(0, {fnv1a(text)}); }

/// Whether columns stand in this order or another makes no difference.
std::string row_key(const Json& columns) { return nlohmann::json(columns).dump(); }

void for_each_index(size_t count, int64_t num_threads, const std::function<void(size_t)>& f) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) f(i);
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < std::min<int64_t>(num_threads, static_cast<int64_t>(count)); ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

void DatasetScan::run() {
  for (size_t s = 0; s < dataset_.sources_.size(); ++s) {
    int64_t num_rows = 0;
    for (Dataset::File& file : dataset_.sources_[s].files) {
      file.first_row = num_rows;
      scan_file(static_cast<int64_t>(s), file);
      num_rows += file.rows.num_rows();
    }
    const SourceReport& report = dataset_.reports_[s];
    if (num_rows > 0) continue;
    throw ConfigError(str(report.name, ": no row is left to use: of ", report.num_rows, " rows ",
                          report.num_other_split, " are in the other split, ", report.num_duplicates,
                          " are duplicates and ", report.num_overlong, " too long"));
  }
}

void DatasetScan::scan_file(int64_t source, Dataset::File& file) {
  JsonlReader reader = file.rows.reader();
  bool is_at_end = false;
  while (!is_at_end) {
    std::vector<Line> lines;
    for (size_t bytes = 0; lines.size() < kLinesPerBatch && bytes < kBytesPerBatch;) {
      is_at_end = !reader.next();
      if (is_at_end) break;
      lines.push_back({reader.text(), reader.offset(), reader.line_number()});
      bytes += reader.text().size();
    }
    const std::vector<Verdict> verdicts = judge(lines, source, file);
    for (size_t i = 0; i < lines.size(); ++i) take(lines[i], verdicts[i], source, file);
  }
}

std::vector<DatasetScan::Verdict> DatasetScan::judge(const std::vector<Line>& lines, int64_t source,
                                                     const Dataset::File& file) const {
  std::vector<Verdict> verdicts(lines.size());
  for_each_index(lines.size(), options_.num_threads, [&](size_t i) {
    try {
      verdicts[i] = judge_line(lines[i], source, file);
    } catch (...) {
      verdicts[i].error = std::current_exception();
    }
  });
  return verdicts;
}

DatasetScan::Verdict DatasetScan::judge_line(const Line& line, int64_t source,
                                             const Dataset::File& file) const {
  const std::string path = file.rows.path().string();
  Row row{parse_row(line.text, path, line.number), str(file.label, ":", line.number),
          str(path, ":", line.number)};
  apply_columns(row, dataset_.sources_[source].spec);
  Verdict verdict;
  verdict.where = row.where;
  if (options_.test_split_size > 0.0) {
    verdict.is_in_split = is_held_out(prompt_key(row), options_.test_split_size) == options_.is_held_out;
    if (!verdict.is_in_split) return verdict;
  }
  if (options_.deduplicate == Deduplicate::kPrompt) verdict.key = uniform_hash(prompt_key(row));
  if (options_.deduplicate == Deduplicate::kRow) verdict.key = uniform_hash(row_key(row.columns));
  verdict.lengths = measure_(row);
  return verdict;
}

bool DatasetScan::is_overlong(const Verdict& verdict) const {
  const RowLengths& lengths = verdict.lengths;
  const bool is_prompt_overlong = options_.max_prompt_length && lengths.prompt > *options_.max_prompt_length;
  const bool fits = !is_prompt_overlong && lengths.total <= options_.context_length;
  if (fits || options_.filter_overlong_prompts) return !fits;
  const std::string advice = "; data.filter_overlong_prompts = true leaves such rows out";
  if (is_prompt_overlong) {
    throw FormatError(str(verdict.where, ": the prompt has ", lengths.prompt,
                          " tokens, more than data.max_prompt_length = ", *options_.max_prompt_length,
                          advice));
  }
  throw FormatError(str(verdict.where, ": the prompt has ", lengths.prompt, " tokens and the row needs ",
                        lengths.total, ", more than the model's context of ", options_.context_length,
                        advice));
}

void DatasetScan::take(const Line& line, const Verdict& verdict, int64_t source, Dataset::File& file) {
  SourceReport& report = dataset_.reports_[source];
  if (verdict.error) std::rethrow_exception(verdict.error);
  ++report.num_rows;
  if (!verdict.is_in_split) {
    ++report.num_other_split;
  } else if (options_.deduplicate != Deduplicate::kNone && !seen_.insert(verdict.key)) {
    ++report.num_duplicates;
  } else if (is_overlong(verdict)) {
    ++report.num_overlong;
  } else {
    const auto& [prompt, total] = verdict.lengths;
    dataset_.prompt_lengths_.emplace(prompt, RowAddress{source, file.first_row + file.rows.num_rows()});
    dataset_.longest_total_ = std::max(dataset_.longest_total_, total);
    ++report.num_used;
    report.fingerprint = random_bits(report.fingerprint, {fnv1a(line.text)});
    file.rows.add(line.offset, line.number);
  }
}

}  // namespace cohort
