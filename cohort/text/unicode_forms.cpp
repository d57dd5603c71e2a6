#include "cohort/text/unicode_forms.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "cohort/core/error.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

// All code points that decompose, compose or reorder lie below.
constexpr char32_t kTableSize = 0x30000;
constexpr char32_t kHangulFirst = 0xAC00, kLeadingFirst = 0x1100, kVowelFirst = 0x1161,
                   kTrailingFirst = 0x11A7;
constexpr uint32_t kNumLeading = 19, kNumVowels = 21, kNumTrailing = 28;
constexpr uint32_t kNumHangul = kNumLeading * kNumVowels * kNumTrailing;

/// What one code point does in normalization.
struct Property {
  uint8_t combining_class = 0;
  bool decomposes = false;         // canonically
  bool decomposes_compat = false;  // canonically or by compatibility
  bool composes_behind = false;    // may be the second of a pair that composes
  bool changes_in_nfc = false;     // decomposes and does not compose again to itself
  bool changes_in_nfkc = false;
};

bool is_hangul(char32_t c) { return c - kHangulFirst < kNumHangul; }

uint64_t pair_key(char32_t first, char32_t second) { return static_cast<uint64_t>(first) << 32 | second; }

/// The tables, made once from utf8proc's and from what is younger than HF's.
class Tables {
 public:
  Tables() : properties_(kTableSize) {
    for (char32_t c = 0; c < kTableSize; ++c) {
      if (is_hangul(c)) {
        properties_[c].decomposes = properties_[c].decomposes_compat = true;
      } else if (!nfc_inert().contains(c) && (c < 0xD800 || c > 0xDFFF)) {
        fill(c);
      }
    }
    for (char32_t i = 0; i < kNumVowels; ++i) properties_[kVowelFirst + i].composes_behind = true;
    for (char32_t i = 1; i < kNumTrailing; ++i) properties_[kTrailingFirst + i].composes_behind = true;
  }

  const Property& property(char32_t c) const {
    static const Property none;
    return c < kTableSize ? properties_[c] : none;
  }

  /// The composite of a pair; 0 where there is none.
  char32_t compose(char32_t first, char32_t second) const {
    if (first - kLeadingFirst < kNumLeading && second - kVowelFirst < kNumVowels) {
      return kHangulFirst + ((first - kLeadingFirst) * kNumVowels + (second - kVowelFirst)) * kNumTrailing;
    }
    if (is_hangul(first) && (first - kHangulFirst) % kNumTrailing == 0 && second > kTrailingFirst &&
        second < kTrailingFirst + kNumTrailing) {
      return first + (second - kTrailingFirst);
    }
    const auto it = pairs_.find(pair_key(first, second));
    return it == pairs_.end() ? 0 : it->second;
  }

 private:
  void fill(char32_t c) {
    Property& property = properties_[c];
    property.combining_class =
        static_cast<uint8_t>(utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
    utf8proc_int32_t parts[32];
    int count = decompose(c, UTF8PROC_STABLE, parts);
    const std::vector<utf8proc_int32_t> canonical(parts, parts + count);
    property.decomposes = count != 1 || parts[0] != static_cast<utf8proc_int32_t>(c);
    const bool composes_again = count > 1 && add_pair(c, {parts, static_cast<size_t>(count)});
    property.changes_in_nfc = property.decomposes && !composes_again;
    count = decompose(c, UTF8PROC_STABLE | UTF8PROC_COMPAT, parts);
    property.decomposes_compat =
        !compat_inert().contains(c) && (count != 1 || parts[0] != static_cast<utf8proc_int32_t>(c));
    const bool same = std::equal(canonical.begin(), canonical.end(), parts, parts + count);
    property.changes_in_nfkc = property.changes_in_nfc || (property.decomposes_compat && !same);
  }

  /// Notes that the composite of all but the last part, and the last one, compose to `c`; false if they do
  /// not.
  bool add_pair(char32_t c, std::span<utf8proc_int32_t> parts) {
    const auto compose_all = [](std::span<utf8proc_int32_t> code_points) {
      return utf8proc_normalize_utf32(code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()),
                                      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    };
    const auto last = static_cast<char32_t>(parts.back());
    std::array<utf8proc_int32_t, 32> head;
    std::copy(parts.begin(), parts.end() - 1, head.begin());
    if (compose_all({head.data(), parts.size() - 1}) != 1) return false;
    if (compose_all(parts) != 1 || static_cast<char32_t>(parts[0]) != c) return false;
    pairs_[pair_key(static_cast<char32_t>(head[0]), last)] = c;
    properties_[last].composes_behind = true;
    return true;
  }

 public:
  static int decompose(char32_t c, int options, utf8proc_int32_t (&parts)[32]) {
    int boundclass = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, std::size(parts),
                                static_cast<utf8proc_option_t>(options | UTF8PROC_DECOMPOSE), &boundclass);
    COHORT_CHECK(count >= 0 && count <= std::ssize(parts), utf8proc_errmsg(count));
    return static_cast<int>(count);
  }

 private:
  std::vector<Property> properties_;
  std::unordered_map<uint64_t, char32_t> pairs_;
};

const Tables& tables() {
  static const Tables tables;
  return tables;
}

bool is_compat(UnicodeForm form) { return form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd; }
bool is_composed(UnicodeForm form) { return form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc; }

bool decomposes_in(const Property& property, UnicodeForm form) {
  return is_compat(form) ? property.decomposes_compat : property.decomposes;
}

void append_decomposition(std::vector<CharChange>& out, char32_t c, UnicodeForm form) {
  if (!decomposes_in(tables().property(c), form)) {
    out.push_back({c, 0});
    return;
  }
  if (is_hangul(c)) {
    const uint32_t index = c - kHangulFirst;
    out.push_back({kLeadingFirst + index / (kNumVowels * kNumTrailing), 0});
    out.push_back({kVowelFirst + index / kNumTrailing % kNumVowels, 1});
    if (index % kNumTrailing > 0) out.push_back({kTrailingFirst + index % kNumTrailing, 1});
    return;
  }
  utf8proc_int32_t parts[32];
  const int count = Tables::decompose(c, UTF8PROC_STABLE | (is_compat(form) ? UTF8PROC_COMPAT : 0), parts);
  for (int i = 0; i < count; ++i) out.push_back({static_cast<char32_t>(parts[i]), i == 0 ? 0 : 1});
}

int class_of(const CharChange& change) { return tables().property(change.character).combining_class; }

/// Stable order by class within each run of marks.
void reorder_marks(std::vector<CharChange>& changes) {
  for (auto begin = changes.begin(); begin != changes.end();) {
    if (class_of(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, changes.end(), [](const auto& c) { return class_of(c) == 0; });
    std::stable_sort(begin, end, [](const auto& a, const auto& b) { return class_of(a) < class_of(b); });
    begin = end;
  }
}

/// Composes in place: a character joins the last starter unless one between them, of no lower class, is in
/// the way.
void compose(std::vector<CharChange>& changes) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  size_t starter = kNone;
  size_t size = 0;
  int last_class = -1;  // of what lies between starter and here; -1: nothing
  for (const CharChange& change : changes) {
    const int combining_class = class_of(change);
    if (starter != kNone && last_class < combining_class &&
        tables().property(change.character).composes_behind) {
      if (const char32_t composite = tables().compose(changes[starter].character, change.character)) {
        changes[starter] = {composite, changes[starter].change + change.change - 1};
        continue;
      }
    }
    if (combining_class == 0) {
      starter = size;
      last_class = -1;
    } else if (starter != kNone) {
      last_class = combining_class;
    }
    changes[size++] = change;
  }
  changes.resize(size);
}

}  // namespace

bool is_in_form(std::string_view text, UnicodeForm form) {
  for (size_t pos = skip_ascii(text, 0); pos < text.size(); pos = skip_ascii(text, pos)) {
    const Property& property = tables().property(next_code_point(text, pos));
    if (property.combining_class != 0) return false;
    if (is_composed(form) && property.composes_behind) return false;
    const bool changes = form == UnicodeForm::kNfc    ? property.changes_in_nfc
                         : form == UnicodeForm::kNfkc ? property.changes_in_nfkc
                                                      : decomposes_in(property, form);
    if (changes) return false;
  }
  return true;
}

std::vector<CharChange> changes_to_form(std::string_view text, UnicodeForm form) {
  std::vector<CharChange> changes;
  changes.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) append_decomposition(changes, next_code_point(text, pos), form);
  reorder_marks(changes);
  if (is_composed(form)) compose(changes);
  return changes;
}

}  // namespace cohort
