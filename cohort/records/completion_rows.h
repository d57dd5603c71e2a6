// The rows of completions.index, and those of lines that it lacks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "cohort/records/completion_files.h"
#include "cohort/records/completion_index.h"

namespace cohort {

constexpr std::string_view kIndexMagic = "COHORTI1";

std::filesystem::path index_file(const std::filesystem::path& run);

/// Whether there is an index: a file that begins as one.
bool is_index(const std::filesystem::path& index);

/// Appends the whole rows of an index from row `first` on. False if there is no
/// such file, it is no index, or it has fewer than `first` rows. Throws FormatError if it can't be read.
bool read_rows(const std::filesystem::path& index, int64_t first, std::vector<CompletionEntry>& rows);

/// A vector doubles its room, which is much for millions of rows: this one adds an eighth.
void add_row(std::vector<CompletionEntry>& rows, const CompletionEntry& row);

/// Whether `row` can follow `before`: in the same file where that ends, or at the beginning of a later one.
bool is_next_row(const CompletionEntry* before, const CompletionEntry& row);

/// Appends the rows of the lines of a file after `rows.back()`, which must be in that file, or else of all
/// its lines. False, with nothing appended, if the line of `rows.back()` is another one. Throws FormatError
/// for damaged lines.
bool scan_rows(const CompletionFiles& files, int64_t file, std::vector<CompletionEntry>& rows);

struct CompletionRows {
  std::vector<CompletionEntry> rows{};  ///< one for each line
  int64_t num_indexed = 0;              ///< the first so many are rows of the index
  int64_t num_left_out = 0;             ///< rows of the index whose files are gone
  int64_t gap_end = 0;                  ///< the first of `rows` that comes after all those
};

/// All rows of a run. Its index is used as far as it fits the lines. Throws FormatError for damaged lines.
CompletionRows load_rows(const std::filesystem::path& run);

/// The same, together with the files that the lines are in.
CompletionRows load_rows(const std::filesystem::path& run, std::optional<CompletionFiles>& files);

}  // namespace cohort
