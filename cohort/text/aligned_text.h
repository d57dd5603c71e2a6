// A text on its way through normalizers and pre-tokenizers: its bytes, and for each the bytes of the source
// that it stems from. The rules are those by which Hugging Face's tokenizers arrive at their offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libs/common/text_span.h"

namespace cohort {

/// Bytes of the source, the end exclusive.
struct SourceSpan {
  uint32_t begin;
  uint32_t end;
};

/// One character of a new text: 0 takes the place of the next old one, -n that of n + 1 old ones, 1 is put in
/// between.
struct CharChange {
  char32_t character;
  int32_t change;
};

class AlignedText {
 public:
  /// Bytes [begin, end) of well-formed `source`, which must outlive this. Without `track` there are no source
  /// spans.
  AlignedText(std::string_view source, size_t begin, size_t end, bool track)
      : source_(source), begin_(begin), end_(end), track_(track), max_size_(64 * (end - begin) + 1024) {}

  std::string_view text() const { return changed_ ? text_ : source_.substr(begin_, end_ - begin_); }
  bool tracked() const { return track_; }

  /// Where bytes [begin, end) of the text, not none, come from: whole characters. Needs `track`.
  SourceSpan source_span(size_t begin, size_t end) const;

  /// Whether byte `pos` of the text comes from the first character of the source. Needs `track` once the text
  /// changed.
  bool begins_at_source(size_t pos) const {
    return changed_ ? alignment_[pos].begin == 0 : begin_ + pos == 0;
  }

  /// Bytes [begin, end) of the text, not none, as a text of its own.
  AlignedText slice(size_t begin, size_t end) const;

  /// Replaces the text by `changes`; the first `num_removed_first` characters vanish before these count.
  void transform(const std::vector<CharChange>& changes, size_t num_removed_first = 0);

  /// Puts `content` for every match among `spans`, which cover the text.
  void replace(const std::vector<TextSpan>& spans, std::string_view content);

  /// Puts `prefix` before the text; nothing happens to an empty text.
  void prepend(std::string_view prefix);

 private:
  friend class TextBuilder;

  SourceSpan span_at(size_t pos) const;
  size_t first_wide_byte() const;

  std::string_view source_;
  size_t begin_;
  size_t end_;
  bool track_;
  size_t max_size_;  // of the text: a file must not make it grow without bound
  bool changed_ = false;
  std::string text_;                   // once changed
  std::vector<SourceSpan> alignment_;  // per byte of text_, once changed and if tracked
};

/// Collects what an AlignedText becomes. Throws FormatError where that is out of all proportion.
class TextBuilder {
 public:
  explicit TextBuilder(const AlignedText& from) : from_(&from) {}

  size_t size() const { return text_.size(); }

  /// Bytes [begin, end) of the old text as they are.
  void keep(size_t begin, size_t end);

  /// New bytes that stem from the character at byte `pos` of the old text.
  void add(std::string_view bytes, size_t pos);

  /// New bytes that stem from what ends at byte `end` of the old text, or from its beginning where `end` is
  /// 0.
  void add_behind(std::string_view bytes, size_t end);

  /// Makes `text`, which this was built from, the new text.
  void commit_to(AlignedText& text);

 private:
  void append(std::string_view bytes);
  void add_span(size_t count, SourceSpan span);

  const AlignedText* from_;
  std::string text_;
  std::vector<SourceSpan> alignment_;
};

}  // namespace cohort
