#include "cohort/text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/text/unicode.h"
#include "cohort/text/utf8.h"

namespace cohort {
namespace {

constexpr auto kComposeOptions = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

int combining_class(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

void append_decomposition(std::vector<utf8proc_int32_t>& out, char32_t code_point) {
  utf8proc_int32_t parts[8];
  int boundclass = 0;
  const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), parts,
                                                         std::size(parts), kComposeOptions, &boundclass);
  COHORT_CHECK(count >= 0 && count <= std::ssize(parts), utf8proc_errmsg(count));
  out.insert(out.end(), parts, parts + count);
}

/// Stable order by class within each run of marks; utf8proc's own sorting takes quadratic time.
void reorder_marks(std::vector<utf8proc_int32_t>& code_points) {
  for (auto begin = code_points.begin(); begin != code_points.end();) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, code_points.end(), [](auto c) { return combining_class(c) == 0; });
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

/// Moves `segment`, the decompositions of a text without inert code points, to `out` in form C.
void flush_segment(std::vector<utf8proc_int32_t>& segment, std::string& out) {
  reorder_marks(segment);
  const auto count = utf8proc_normalize_utf32(segment.data(), static_cast<utf8proc_ssize_t>(segment.size()),
                                              kComposeOptions);
  COHORT_CHECK(count >= 0, utf8proc_errmsg(count));
  for (utf8proc_ssize_t i = 0; i < count; ++i) append_utf8(out, static_cast<char32_t>(segment[i]));
  segment.clear();
}

}  // namespace

std::string normalize_nfc(std::string_view text) {
  const bool is_ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (is_ascii) return std::string(text);
  std::string out;
  std::vector<utf8proc_int32_t> segment;
  for (size_t pos = 0; pos < text.size();) {
    const char32_t code_point = next_code_point(text, pos);
    if (nfc_inert().contains(code_point)) {
      flush_segment(segment, out);
      append_utf8(out, code_point);
    } else {
      append_decomposition(segment, code_point);
    }
  }
  flush_segment(segment, out);
  return out;
}

Normalizer::Normalizer(const TokenizerJson& config) {
  for (const TokenizerJson& step : flatten_sequence(config, "normalizers", "normalizer")) {
    const std::string type = string_field(step, "type", "normalizer");
    if (type != "NFC") throw_unsupported("normalizer", type, "NFC, Sequence");
    nfc_ = true;
  }
}

std::string Normalizer::normalize(std::string_view text) const {
  return nfc_ ? normalize_nfc(text) : std::string(text);
}

}  // namespace cohort
