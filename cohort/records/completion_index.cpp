#include "cohort/records/completion_index.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <ranges>

#include "cohort/records/completion_lines.h"
#include "cohort/records/completion_rows.h"

namespace cohort {
namespace {

/// Rows of the index that are compared with those that were read before. Runs that went back draw other
/// completions.
constexpr int64_t kComparedRows = 64;

/// Whether nothing but the current file has changed, which may have been compressed once.
bool goes_on(const CompletionFiles& before, const CompletionFiles& now) {
  if (before.has_files_of(now)) return true;
  const std::vector<int64_t>&old = before.files(), &all = now.files();
  return all.size() <= old.size() + 1 && std::ranges::equal(old, all | std::views::take(std::ssize(old)));
}

}  // namespace

CompletionIndex::CompletionIndex(const std::filesystem::path& run)
    : run_(run), lines_(std::make_shared<CompletionLines>(run)) {}

bool CompletionIndex::update() {
  const size_t before = entries_.size();
  if (files_ && extend()) return entries_.size() > before;
  load();
  return before > 0 || !entries_.empty();
}

void CompletionIndex::load() {
  files_.reset();
  ++num_loads_;
  entries_ = {};
  std::optional<CompletionFiles> files;
  CompletionRows loaded = load_rows(run_, files);
  entries_ = std::move(loaded.rows);
  num_indexed_ = loaded.num_indexed;
  num_left_out_ = loaded.num_left_out;
  gap_end_ = loaded.gap_end;
  files_ = std::make_shared<const CompletionFiles>(std::move(*files));
  lines_ = std::make_shared<CompletionLines>(run_);  // files of the same names may hold other lines
  lines_->set_files(files_);
}

/// Takes in what the index and the current file have since. False if that is not all that has changed.
bool CompletionIndex::extend() {
  if (!add_rows_of_index()) return false;
  auto files = std::make_shared<const CompletionFiles>(run_);
  if (!goes_on(*files_, *files)) return false;
  // The rows of lines that are compressed now are in the index by now, if it has any of them.
  const bool is_compressed = files_->current() && files_->current() != files->current();
  if (is_compressed && (!add_rows_of_index() || num_indexed_ < std::ssize(entries_))) return false;
  if (files->current() && !scan_rows(*files, *files->current(), entries_)) return false;
  files_ = std::move(files);
  lines_->set_files(files_);
  return true;
}

/// False if the rows that were read before are not in the index any more, or new ones do not follow them.
bool CompletionIndex::add_rows_of_index() {
  std::vector<CompletionEntry> rows;
  const int64_t num_compared = std::min(num_indexed_ - gap_end_, kComparedRows);
  if (num_compared < 0 || (num_compared == 0 && num_left_out_ > 0)) return false;
  const int64_t first = num_indexed_ - num_compared;
  if (!read_rows(index_file(run_), first + num_left_out_, rows)) return num_indexed_ == 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t place = static_cast<size_t>(first) + i;
    if (place < entries_.size()) {
      if (std::memcmp(&rows[i], &entries_[place], sizeof(CompletionEntry)) != 0) return false;
    } else {
      if (!is_next_row(entries_.empty() ? nullptr : &entries_.back(), rows[i])) return false;
      add_row(entries_, rows[i]);
    }
  }
  if (std::ssize(rows) < num_compared) return false;
  num_indexed_ = first + std::ssize(rows);
  return true;
}

std::string CompletionIndex::line(const CompletionEntry& entry) const { return lines_->read(entry); }

std::vector<size_t> line_order(std::span<const uint32_t> numbers) {
  std::vector<size_t> places(numbers.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::sort(places, {}, [&](size_t place) { return numbers[place]; });
  return places;
}

}  // namespace cohort
