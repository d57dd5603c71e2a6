#include "cohort/env/passages.h"

#include <algorithm>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/input_file.h"
#include "cohort/core/jsonl_reader.h"
#include "libs/common/ascii.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using TakePassage = std::function<void(const Passage&)>;

std::vector<fs::path> files_of(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw ConfigError(str("tool.folder: there is no folder ", folder.string()));
  std::vector<fs::path> files;
  constexpr auto kOptions = fs::directory_options::follow_directory_symlink;
  for (auto entry = fs::recursive_directory_iterator(folder, kOptions, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string extension = entry->path().extension().string();
    const bool is_hidden = entry->path().filename().string().starts_with(".");
    if (is_hidden && entry->is_directory()) entry.disable_recursion_pending();
    if (!is_hidden && (extension == ".txt" || extension == ".md" || extension == ".jsonl"))
      files.push_back(entry->path());
  }
  if (error) throw ConfigError(str("tool.folder: ", folder.string(), " cannot be read: ", error.message()));
  std::ranges::sort(files);
  return files;
}

/// The paragraphs of a text, those that are too long in parts.
std::vector<std::string> paragraphs_of(std::string_view text) {
  std::vector<std::string> paragraphs;
  std::string paragraph;
  const auto finish = [&] {
    for (std::string_view rest = trim(paragraph); !rest.empty(); rest = trim(rest)) {
      size_t end = 0;
      for (int64_t i = 0; i < kMaxPassageLength && end < rest.size(); ++i) next_code_point(rest, end);
      const size_t blank = rest.find_last_of(" \n\t", end - 1);
      if (end < rest.size() && blank != std::string_view::npos && blank > 0) end = blank;
      paragraphs.emplace_back(trim(rest.substr(0, end)));
      rest.remove_prefix(end);
    }
    paragraph.clear();
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    if (trim(line).empty()) {
      finish();
    } else {
      paragraph += line;
    }
  }
  finish();
  return paragraphs;
}

void take_text(const fs::path& path, const std::string& title, const TakePassage& take) {
  const std::string text = read_whole_file(path);
  if (const auto fault = find_invalid_utf8(text)) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<int64_t>(*fault), '\n');
    throw FormatError(str(path.string(), ":", line, ": not UTF-8; convert the file, or take it away"));
  }
  Passage passage{title, ""};
  int64_t length = 0;
  for (const std::string& paragraph : paragraphs_of(text)) {
    const int64_t added = count_code_points(paragraph) + 2;
    if (!passage.text.empty() && length + added > kMaxPassageLength) {
      take(passage);
      passage.text.clear();
    }
    length = passage.text.empty() ? added - 2 : length + added;
    passage.text += (passage.text.empty() ? "" : "\n\n") + paragraph;
  }
  if (!passage.text.empty()) take(passage);
}

void take_rows(const fs::path& path, const std::string& title, const TakePassage& take) {
  JsonlReader reader(path);
  while (reader.next()) {
    const Json row = reader.row();
    const auto text_of = [&](const char* key) {
      const Json value = row.value(key, Json());
      return value.is_string() ? value.get<std::string>() : "";
    };
    Passage passage{text_of("title"), ""};
    for (const char* key : {"text", "contents", "content", "passage"}) {
      if (passage.text.empty()) passage.text = text_of(key);
    }
    if (passage.text.empty())
      throw FormatError(str(reader.where(), ": a row needs a text as \"text\", \"contents\", \"content\" or ",
                            "\"passage\""));
    if (passage.title.empty()) passage.title = str(title, ":", reader.line_number());
    take(passage);
  }
}

}  // namespace

void for_each_passage(const fs::path& folder, const TakePassage& take) {
  for (const fs::path& path : files_of(folder)) {
    const std::string title = fs::relative(path, folder).string();
    if (path.extension() == ".jsonl") {
      take_rows(path, title, take);
    } else {
      take_text(path, title, take);
    }
  }
}

}  // namespace cohort
