#include "cohort/records/index_writer.h"

#include <algorithm>
#include <exception>

#include "cohort/core/log.h"
#include "cohort/records/completion_rows.h"

namespace cohort {
namespace {

constexpr size_t kRowsPerWrite = 1 << 14;

}  // namespace

IndexWriter::IndexWriter(std::filesystem::path run) : run_(std::move(run)) {}

void IndexWriter::attempt(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    const std::filesystem::path path = index_file(run_);
    log_warn(path.string(), ": can't be written (", error.what(),
             "): the next start of the run makes it again");
    file_.reset();
    std::error_code none;
    std::filesystem::remove(path, none);
  }
}

void IndexWriter::heal() {
  is_open_ = true;
  file_.reset();
  added_.clear();
  attempt([&] { make_index(); });
}

void IndexWriter::open() {
  if (!is_open_) heal();
}

void IndexWriter::make_index() {
  std::optional<CompletionFiles> files;
  const CompletionRows wanted = load_rows(run_, files);
  first_step_.reset();
  if (files->current()) first_step_ = static_cast<uint32_t>(*files->current());
  const std::filesystem::path path = index_file(run_);
  const bool has_index = is_index(path);
  file_ = std::make_unique<AppendFile>(path);
  const auto kept = static_cast<size_t>(wanted.num_left_out == 0 ? wanted.num_indexed : 0);
  const size_t num_bytes = has_index ? kIndexMagic.size() + kept * sizeof(CompletionEntry) : 0;
  if (file_->size() != static_cast<int64_t>(num_bytes)) file_->truncate_to(static_cast<int64_t>(num_bytes));
  if (!has_index) file_->append(kIndexMagic);
  append_rows(wanted.rows.data() + kept, wanted.rows.size() - kept);
}

void IndexWriter::append_rows(const CompletionEntry* rows, size_t count) {
  for (size_t done = 0; done < count;) {
    const size_t some = std::min(count - done, kRowsPerWrite);
    file_->append({reinterpret_cast<const char*>(rows + done), some * sizeof(CompletionEntry)});
    file_->flush();
    done += some;
  }
  file_->flush();
}

void IndexWriter::add(std::string_view line, int64_t place) {
  if (!file_) return;
  attempt([&] {
    CompletionEntry row = completion_entry(line, place, first_step_.value_or(0));
    if (!first_step_) first_step_ = row.file = row.step;
    added_.push_back(row);
  });
}

void IndexWriter::flush() {
  if (!file_) return;
  attempt([&] { append_rows(added_.data(), added_.size()); });
  added_.clear();
}

void IndexWriter::sync() {
  flush();
  if (file_) attempt([&] { file_->sync(); });
}

}  // namespace cohort
