// Files in formats that are known but not read: the message names the format and the way to JSONL.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cohort {

/// The number of a file's first bytes that decide its format.
constexpr size_t kFormatBytes = 64;

/// Throws FormatError beginning with `name` if the first bytes are those of Parquet, Arrow, xz, a zip and
/// so on, of UTF-16 text, or of a Git LFS pointer.
void refuse_foreign_bytes(std::string_view first_bytes, const std::string& name);

/// The same for rows, decompressed: also for a JSON list, JSON over several lines, CSV and HTML. `text` is
/// the beginning of the file, of any length.
void refuse_foreign_rows(std::string_view text, const std::string& name);

/// Throws FormatError beginning with `name` for a Git LFS pointer, which replaces a file that was not
/// fetched.
void refuse_lfs_pointer(std::string_view first_bytes, const std::string& name);

}  // namespace cohort
