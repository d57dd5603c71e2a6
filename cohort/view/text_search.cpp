#include "cohort/view/text_search.h"

#include <algorithm>
#include <chrono>

#include "cohort/core/json.h"
#include "libs/common/ascii.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr size_t kMostSearches = 8;

bool is_ascii(std::string_view text) { return skip_ascii(text, 0) == text.size(); }

std::string folded(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) append_utf8(result, to_lowercase(next_code_point(text, pos)));
  return result;
}

/// Whether `text` has `lower`, which is ASCII in lower case. Bytes beyond ASCII match nothing.
bool has_ascii(std::string_view text, std::string_view lower) {
  const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  const char first[] = {
      lower[0], lower[0] >= 'a' && lower[0] <= 'z' ? static_cast<char>(lower[0] - 'a' + 'A') : lower[0]};
  for (size_t pos = 0; (pos = text.find_first_of(std::string_view(first, 2), pos)) != std::string_view::npos;
       ++pos) {
    if (text.size() - pos < lower.size()) return false;
    if (std::equal(lower.begin(), lower.end(), text.begin() + static_cast<int64_t>(pos),
                   [&](char b, char a) { return is_same(a, b); }))
      return true;
  }
  return false;
}

/// Whether a line may have `lower` anywhere: false spares its parsing.
bool may_have(const std::string& line, const std::string& lower) {
  const bool is_plain =
      std::ranges::none_of(lower, [](char c) { return c < 0x20 || c == '"' || c == '\\' || c == '/'; });
  return !is_plain || line.find("\\u") != std::string::npos || has_ascii(line, lower);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What a query searches for, and not what it shows of that.
CompletionQuery subject_of(CompletionQuery query) {
  const CompletionQuery none;
  query.order = none.order;
  query.is_descending = none.is_descending;
  query.offset = none.offset;
  query.limit = none.limit;
  query.search_s = none.search_s;
  return query;
}

}  // namespace

bool has_text(const std::string& line, const std::string& text) {
  if (text.empty()) return true;
  const bool folds = !is_ascii(text);
  const std::string lower = folds ? folded(text) : lower_case(text);
  if (!folds && !may_have(line, lower)) return false;
  const Json row = parse_json_line(line, "completions.jsonl", 1);
  for (const char* key : {"prompt", "completion"}) {
    const auto value = row.is_object() ? row.find(key) : row.end();
    if (value == row.end() || !value->is_string()) continue;
    const auto& own = value->get_ref<const std::string&>();
    if (folds ? folded(own).find(lower) != std::string::npos : has_ascii(own, lower)) return true;
  }
  return false;
}

TextSearches::Search& TextSearches::search_for(const CompletionQuery& query, int64_t count) {
  const bool is_backward = query.is_descending && is_in_line_order(query.order);
  const CompletionQuery subject = subject_of(query);
  const auto known = std::ranges::find_if(searches_, [&](const Search& search) {
    return search.subject == subject && (search.is_backward == is_backward || search.is_complete(count));
  });
  if (known != searches_.end()) {
    std::rotate(known, known + 1, searches_.end());
  } else {
    if (searches_.size() == kMostSearches) searches_.erase(searches_.begin());
    const int64_t start = is_backward ? count : 0;
    searches_.push_back({.subject = subject, .is_backward = is_backward, .begin = start, .end = start});
  }
  return searches_.back();
}

CompletionPage TextSearches::find(std::span<const CompletionEntry> entries, const CompletionQuery& query,
                                  const std::function<std::string(const CompletionEntry&)>& line_of) {
  const int64_t count = std::ssize(entries);
  Search& search = search_for(query, count);
  const EntryFilter is_match(search.subject);
  const double end_s = now_s() + query.search_s;
  bool has_time = true;
  while (has_time && !search.is_complete(count)) {
    const bool is_forward = search.end < count;  // a backward search begins with what was added since
    const auto i = static_cast<uint32_t>(is_forward ? search.end : search.begin - 1);
    if (is_match(entries[i])) {
      if (has_text(line_of(entries[i]), query.text)) search.found.push_back(i);
      has_time = now_s() < end_s;
    }
    if (is_forward) {
      ++search.end;
    } else {
      --search.begin;
    }
  }
  return {.matched = std::ssize(search.found),
          .rows = sorted_page(entries, search.found, query),
          .is_complete = search.is_complete(count),
          .num_searched = search.end - search.begin};
}

}  // namespace cohort
