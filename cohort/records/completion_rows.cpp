#include "cohort/records/completion_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cohort/core/error.h"
#include "cohort/core/input_file.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the rows are read as they lie in the file");

constexpr size_t kRowBytes = sizeof(CompletionEntry);

bool is_same_row(const CompletionEntry& left, const CompletionEntry& right) {
  return std::memcmp(&left, &right, kRowBytes) == 0;
}

bool has_magic(const InputFile& file) {
  char magic[kIndexMagic.size()];
  const size_t count = file.read_at(magic, sizeof magic, 0);
  return std::string_view(magic, count) == kIndexMagic;
}

void make_room(std::vector<CompletionEntry>& rows, size_t count) {
  if (rows.size() + count > rows.capacity()) rows.reserve(rows.size() + count + rows.size() / 8 + 1024);
}

/// The number of rows from the first one on that follow one another through `files`, none of which is left
/// out.
size_t num_fitting(const std::vector<CompletionEntry>& rows, const std::vector<int64_t>& files) {
  size_t file = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const CompletionEntry* before = i > 0 ? &rows[i - 1] : nullptr;
    if (before != nullptr && before->file != rows[i].file) ++file;
    if (file == files.size() || rows[i].file != files[file] || !is_next_row(before, rows[i])) return i;
  }
  return rows.size();
}

bool is_line_of(const CompletionEntry& row, std::string_view line) {
  if (line.size() != row.length) return false;
  try {
    return is_same_row(completion_entry(line, row.place, row.file), row);
  } catch (const FormatError&) {
    return false;
  }
}

CompletionEntry entry_in(const CompletionFiles& files, std::string_view line, int64_t place, int64_t file) {
  try {
    return completion_entry(line, place, static_cast<uint32_t>(file));
  } catch (const FormatError& error) {
    throw FormatError(str(files.path_of(file).string(), ": ", error.what()));
  }
}

/// Takes the rows of the last file away.
void leave_last_file(std::vector<CompletionEntry>& rows) {
  const uint32_t last = rows.back().file;
  while (!rows.empty() && rows.back().file == last) rows.pop_back();
}

/// Erases rows of files that are gone.
void leave_out_other_files(const std::vector<int64_t>& files, CompletionRows& loaded) {
  int64_t num_kept = 0;
  std::erase_if(loaded.rows, [&](const CompletionEntry& row) {
    const bool is_there = std::ranges::binary_search(files, int64_t{row.file});
    num_kept += is_there;
    loaded.num_left_out += !is_there;
    if (!is_there) loaded.gap_end = num_kept;
    return !is_there;
  });
}

}  // namespace

fs::path index_file(const fs::path& run) { return run / "completions.index"; }

bool is_index(const fs::path& index) { return fs::exists(index) && has_magic(InputFile(index)); }

bool read_rows(const fs::path& index, int64_t first, std::vector<CompletionEntry>& rows) {
  if (!fs::exists(index)) return false;
  const InputFile file(index);
  if (!has_magic(file)) return false;
  const size_t begin = kIndexMagic.size() + static_cast<size_t>(first) * kRowBytes;
  if (file.num_bytes() < begin) return false;
  const size_t known = rows.size(), count = (file.num_bytes() - begin) / kRowBytes;
  make_room(rows, count);
  rows.resize(known + count);
  char* const out = reinterpret_cast<char*>(rows.data() + known);
  rows.resize(known + file.read_at(out, count * kRowBytes, begin) / kRowBytes);
  return true;
}

void add_row(std::vector<CompletionEntry>& rows, const CompletionEntry& row) {
  make_room(rows, 1);
  rows.push_back(row);
}

bool is_next_row(const CompletionEntry* before, const CompletionEntry& row) {
  if (before == nullptr || before->file != row.file)
    return row.place == 0 && row.length > 0 && (before == nullptr || before->file < row.file);
  return row.place == before->place + before->length + 1 && row.length > 0;
}

bool scan_rows(const CompletionFiles& files, int64_t file, std::vector<CompletionEntry>& rows) {
  std::optional<CompletionEntry> last;
  if (!rows.empty() && rows.back().file == file) last = rows.back();
  bool waits = last.has_value(), fits = true;  // for the line of `last`
  const auto take = [&](std::string_view line, int64_t place) {
    if (waits) fits = is_line_of(*last, line);
    if (fits && !waits) add_row(rows, entry_in(files, line, place, file));
    waits = false;
  };
  files.for_each_line(file, last ? last->place : 0, take);
  return fits && !waits;
}

CompletionRows load_rows(const fs::path& run) {
  std::optional<CompletionFiles> files;
  return load_rows(run, files);
}

// The index first: a run writes lines before their rows.
CompletionRows load_rows(const fs::path& run, std::optional<CompletionFiles>& files) {
  CompletionRows loaded;
  std::vector<CompletionEntry>& rows = loaded.rows;
  read_rows(index_file(run), 0, rows);
  const std::vector<int64_t>& all = files.emplace(run).files();
  leave_out_other_files(all, loaded);
  rows.resize(num_fitting(rows, all));
  loaded.num_indexed = std::ssize(rows);
  auto next = std::ranges::begin(all);
  if (!rows.empty()) {
    next = std::ranges::find(all, int64_t{rows.back().file});
    if (scan_rows(*files, *next, rows)) {
      ++next;
    } else {
      leave_last_file(rows);
      loaded.num_indexed = std::ssize(rows);
    }
  }
  for (; next != all.end(); ++next) scan_rows(*files, *next, rows);
  return loaded;
}

}  // namespace cohort
