// Writing that is all or nothing, whenever the process or the machine stops: a file with its final name is
// complete. All functions throw FormatError naming the path when the system refuses.
#pragma once

#include <filesystem>
#include <string_view>

namespace cohort {

/// Replaces `path` by `content`: a temporary file beside it, fsync, rename, fsync of the directory.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Makes a directory and those above it that are missing, for good: each new one is synced into the one
/// above. Throws FormatError naming the one that can't be made.
void make_directories(const std::filesystem::path& path);

/// Makes the name of a new file last: fsync of the directory that it is in.
void sync_name(const std::filesystem::path& path);

/// Makes the finished directory `temporary` appear as `final`, on the same file system: fsync of every file
/// and directory in it, rename, fsync of the parent. `final` must not exist, or be empty.
void publish_directory(const std::filesystem::path& temporary, const std::filesystem::path& final);

/// Deletes a directory such that its name never belongs to a half-deleted one: rename to ".trash-<name>",
/// then delete. A leftover of that name is deleted too; a missing directory is no error.
void retire_directory(const std::filesystem::path& directory);

}  // namespace cohort
