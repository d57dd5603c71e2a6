// Upper, lower, title and folded case as Python has them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "libs/common/unicode.h"
#include "libs/common/utf8.h"
#include "libs/jinja/python_text.h"

namespace cohort::jinja {
namespace {

struct CaseRun {
  char32_t first, last;
  int step;
  int delta;
};

struct CaseText {
  char32_t from;
  const char32_t* to;
};

#include "libs/jinja/internal/case_tables.inc"

const CaseRun* find_run(const CaseRun* begin, const CaseRun* end, char32_t code_point) {
  const CaseRun* run =
      std::lower_bound(begin, end, code_point, [](const CaseRun& r, char32_t c) { return r.last < c; });
  if (run == end || code_point < run->first || (code_point - run->first) % run->step != 0) return nullptr;
  return run;
}

template <size_t N>
bool contains(const CaseRun (&runs)[N], char32_t code_point) {
  return find_run(std::begin(runs), std::end(runs), code_point) != nullptr;
}

/// What the runs make of ASCII.
template <size_t N>
std::array<char, 128> ascii_table(const CaseRun (&runs)[N]) {
  std::array<char, 128> table;
  for (char32_t c = 0; c < 128; ++c) {
    const CaseRun* run = find_run(std::begin(runs), std::end(runs), c);
    table[c] = static_cast<char>(run == nullptr ? c : c + run->delta);
  }
  return table;
}

template <const auto& runs, const auto& texts>
void append_mapped(std::string& out, char32_t code_point) {
  static const std::array<char, 128> ascii = ascii_table(runs);
  if (code_point < 0x80) {
    out += ascii[code_point];
    return;
  }
  if (const CaseRun* run = find_run(std::begin(runs), std::end(runs), code_point)) {
    append_utf8(out, code_point + run->delta);
    return;
  }
  const auto* text = std::find_if(std::begin(texts), std::end(texts),
                                  [&](const CaseText& t) { return t.from == code_point; });
  if (text == std::end(texts)) {
    append_utf8(out, code_point);
  } else {
    for (const char32_t* c = text->to; *c != 0; ++c) append_utf8(out, *c);
  }
}

bool is_lower(char32_t c) { return contains(kIsLower, c); }
bool is_upper(char32_t c) { return contains(kIsUpper, c); }

/// Marks and the like between letters, which the rule of the final sigma looks past.
bool is_case_ignorable(char32_t c) {
  static const CodePointSet set = [] {
    std::vector<CodePointRange> ranges{
        {'\'', '\''},     {'.', '.'},       {':', ':'},       {0xB7, 0xB7},
        {0x387, 0x387},   {0x55F, 0x55F},   {0x5F4, 0x5F4},   {0x2018, 0x2019},
        {0x2024, 0x2024}, {0x2027, 0x2027}, {0xFE13, 0xFE13}, {0xFE52, 0xFE52},
        {0xFE55, 0xFE55}, {0xFF07, 0xFF07}, {0xFF0E, 0xFF0E}, {0xFF1A, 0xFF1A}};
    for (const char* name : {"Mn", "Me", "Cf", "Lm", "Sk"}) {
      const CodePointSet category = *general_category(name);
      ranges.insert(ranges.end(), category.ranges().begin(), category.ranges().end());
    }
    return CodePointSet(std::move(ranges));
  }();
  return set.contains(c);
}

/// A sigma that ends a word has a form of its own.
void append_sigma(std::string& out, std::string_view before, std::string_view after) {
  const auto cased_first = [](std::string_view text) {
    for (size_t pos = 0; pos < text.size();) {
      const char32_t c = next_code_point(text, pos);
      if (!is_case_ignorable(c)) return is_cased(c);
    }
    return false;
  };
  const auto cased_last = [](std::string_view text) {
    while (!text.empty()) {
      const char32_t c = last_code_point(text);
      if (!is_case_ignorable(c)) return is_cased(c);
      size_t start = text.size() - 1;
      while ((static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
      text = text.substr(0, start);
    }
    return false;
  };
  append_utf8(out, cased_last(before) && !cased_first(after) ? 0x3C2 : 0x3C3);
}

void append_lower(std::string& out, std::string_view text, size_t pos, char32_t code_point, size_t end) {
  if (code_point == 0x3A3) {
    append_sigma(out, text.substr(0, pos), text.substr(end));
  } else {
    append_mapped<kLowerRuns, kLowerTexts>(out, code_point);
  }
}

/// Calls f(code point, its first byte, the byte behind it).
void for_each_code_point(std::string_view text, const auto& f) {
  for (size_t pos = 0; pos < text.size();) {
    const size_t start = pos;
    const char32_t code_point = next_code_point(text, pos);
    f(code_point, start, pos);
  }
}

}  // namespace

bool is_lower_case(char32_t code_point) { return is_lower(code_point); }
bool is_upper_case(char32_t code_point) { return is_upper(code_point); }
bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || contains(kIsTitle, c); }

bool has_only_case(std::string_view text, bool (*wanted)(char32_t), bool (*unwanted)(char32_t)) {
  bool found = false;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = next_code_point(text, pos);
    if (unwanted(c)) return false;
    found = found || wanted(c);
  }
  return found;
}

std::string to_lower(std::string_view text) {
  std::string out;
  for_each_code_point(text,
                      [&](char32_t c, size_t pos, size_t end) { append_lower(out, text, pos, c, end); });
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out;
  for_each_code_point(text,
                      [&](char32_t c, size_t, size_t) { append_mapped<kUpperRuns, kUpperTexts>(out, c); });
  return out;
}

std::string to_title(std::string_view text) {
  std::string out;
  bool after_letter = false;
  for_each_code_point(text, [&](char32_t c, size_t pos, size_t end) {
    if (after_letter) {
      append_lower(out, text, pos, c, end);
    } else {
      append_mapped<kTitleRuns, kTitleTexts>(out, c);
    }
    after_letter = is_cased(c);
  });
  return out;
}

std::string capitalize(std::string_view text) {
  std::string out;
  for_each_code_point(text, [&](char32_t c, size_t pos, size_t end) {
    if (pos == 0) {
      append_mapped<kTitleRuns, kTitleTexts>(out, c);
    } else {
      append_lower(out, text, pos, c, end);
    }
  });
  return out;
}

std::string swap_case(std::string_view text) {
  std::string out;
  for_each_code_point(text, [&](char32_t c, size_t pos, size_t end) {
    if (is_upper(c)) {
      append_lower(out, text, pos, c, end);
    } else if (is_lower(c)) {
      append_mapped<kUpperRuns, kUpperTexts>(out, c);
    } else {
      append_utf8(out, c);
    }
  });
  return out;
}

std::string case_fold(std::string_view text) {
  std::string out;
  for_each_code_point(text,
                      [&](char32_t c, size_t, size_t) { append_mapped<kFoldRuns, kFoldTexts>(out, c); });
  return out;
}

}  // namespace cohort::jinja
