// The passages of a folder of texts.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace cohort {

struct Passage {
  std::string title;
  std::string text;
};

/// Characters of a passage of a text file, at most.
constexpr int64_t kMaxPassageLength = 1000;

/// Calls `take` for each passage, by the order of the files' paths below `folder`. The files *.txt and *.md
/// are cut at blank lines into passages of at most kMaxPassageLength characters; the title is the file's
/// path. A row of a *.jsonl is one passage: its text is `text`, `contents`, `content` or `passage`, its title
/// is `title`, or else the place of the row. Other files and those whose names begin with a dot are left out.
/// Throws ConfigError for what is no folder, and FormatError naming the file for one that cannot be read, is
/// not UTF-8 or has a row without text.
void for_each_passage(const std::filesystem::path& folder, const std::function<void(const Passage&)>& take);

}  // namespace cohort
