#include "cohort/records/completions_log.h"

#include <algorithm>

#include "cohort/core/atomic_file.h"
#include "cohort/core/byte_stream.h"
#include "cohort/core/error.h"
#include "cohort/core/jsonl_reader.h"
#include "cohort/core/log.h"
#include "cohort/core/zstd_writer.h"
#include "cohort/records/completion_files.h"
#include "cohort/records/metrics_log.h"
#include "cohort/records/record_lines.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Appends all bytes of a file, decompressed.
void append_file(const fs::path& from, AppendFile& to) {
  const auto stream = decompressed(file_stream(std::make_shared<const InputFile>(from)), from.string());
  std::string part(1 << 20, '\0');
  while (const size_t count = stream->read(part.data(), part.size())) {
    to.append(std::string_view(part).substr(0, count));
    to.flush();
  }
}

}  // namespace

CompletionsLog::CompletionsLog(const RunDirectory& run, int64_t max_bytes)
    : path_(run.completions_file()),
      folder_(compressed_folder(run.root())),
      max_bytes_(max_bytes),
      index_(run.root()) {
  delete_copies();
  file_ = std::make_unique<JsonlWriter>(path_);
}

// Left by a process that was stopped between the two files: lines that are in completions.jsonl, too.
void CompletionsLog::delete_copies() {
  std::vector<fs::path> copies;
  const std::optional<int64_t> own = first_step_in(path_);
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename().string();
    const bool is_copy = own && std::strtoll(name.c_str(), nullptr, 10) >= *own;
    if (is_copy || name.ends_with(".tmp")) copies.push_back(entry.path());
  }
  for (const fs::path& copy : copies) fs::remove(copy);
}

void CompletionsLog::write(const std::vector<Json>& rows) {
  index_.open();
  for (const Json& row : rows) {
    const std::string line = to_json_text(row);
    index_.add(line, file_->size());
    file_->append(line + "\n");
  }
  file_->flush();
  index_.flush();
}

Json CompletionsLog::save(int64_t step) {
  index_.open();
  file_->sync();
  index_.sync();
  if (file_->size() > max_bytes_) {
    if (const std::optional<int64_t> first = first_step_in(path_)) compress(*first);
    from_ = step + 1;
  }
  return {{"completions", file_->size()}, {"completions_from", from_}};
}

// completions.jsonl is replaced last, when its lines are elsewhere on the disk for good.
void CompletionsLog::compress(int64_t first_step) {
  make_directories(folder_);
  const fs::path path = compressed_file(folder_, first_step), temporary = path.string() + ".tmp";
  fs::remove(temporary);
  int64_t num_bytes = 0;
  {
    ZstdWriter file(temporary);
    for_each_line(path_, [&](const std::string& line, int64_t place) {
      file.append(line);
      file.append("\n");
      num_bytes = place + std::ssize(line) + 1;
    });
    file.finish();
  }
  if (num_bytes != file_->size())
    throw FormatError(str(path_.string(), ": only ", num_bytes, " of ", file_->size(), " bytes can be read"));
  fs::rename(temporary, path);
  sync_name(path);
  write_file_atomically(path_, "");
  file_ = std::make_unique<JsonlWriter>(path_);
  index_.begin_file();
}

void CompletionsLog::load(const Json& saved, int64_t step) {
  go_back_to(saved, step);
  index_.heal();
}

void CompletionsLog::go_back_to(const Json& saved, int64_t step) {
  restore(saved);
  const auto size = saved.value("completions", int64_t{0});
  const std::optional<int64_t> first = first_step_in(path_);
  if (!first) return go_back(*file_, size);
  if (*first > from_) {
    if (size > 0)
      log_warn(path_.string(), ": lines of steps before ", *first, " were deleted: it holds what there is");
    file_->truncate_to(place_after(path_, step));
    return;
  }
  // A rollback that was interrupted has brought older lines back.
  const int64_t older = place_after(path_, from_ - 1);
  from_ = *first;
  file_->truncate_to(older + size);
}

void CompletionsLog::truncate_to(int64_t bytes) {
  file_->truncate_to(bytes);
  index_.heal();
}

void CompletionsLog::restore_lines(const Json& saved) {
  restore(saved);
  index_.heal();
}

void CompletionsLog::restore(const Json& saved) {
  from_ = saved.value("completions_from", int64_t{1});
  std::vector<int64_t> steps = first_steps(folder_);
  std::erase_if(steps, [&](int64_t step) { return step < from_; });
  if (steps.empty()) return;
  const fs::path temporary = path_.string() + ".tmp";
  fs::remove(temporary);
  {
    AppendFile whole(temporary);
    for (const int64_t step : steps) append_file(compressed_file(folder_, step), whole);
    append_file(path_, whole);
    whole.sync();
  }
  fs::rename(temporary, path_);
  file_ = std::make_unique<JsonlWriter>(path_);  // which syncs the name
  delete_copies();
}

// The open file first: what a run moves away meanwhile is still in it.
void for_each_completion(const fs::path& run, std::optional<int64_t> step,
                         const std::function<void(const std::string& line)>& f) {
  std::ifstream open(run / "completions.jsonl", std::ios::binary);
  const fs::path folder = compressed_folder(run);
  const std::vector<int64_t> steps = first_steps(folder);
  int64_t newest = -1;  // of the compressed lines
  for (size_t i = 0; i < steps.size(); ++i) {
    if (step && (steps[i] > *step || (i + 1 < steps.size() && steps[i + 1] <= *step))) continue;
    JsonlReader reader(compressed_file(folder, steps[i]));
    while (reader.next()) {
      newest = step_of(reader.text());
      if (step && newest > *step) return;
      if (!step || newest == *step) f(reader.text());
    }
  }
  for_each_line(open, [&](const std::string& line, int64_t) {
    const int64_t own = step_of(line);
    if (own > newest && (!step || own == *step)) f(line);
  });
}

}  // namespace cohort
