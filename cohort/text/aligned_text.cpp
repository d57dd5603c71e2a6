#include "cohort/text/aligned_text.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

bool continues_character(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

size_t next_boundary(std::string_view text, size_t pos) {
  do ++pos;
  while (pos < text.size() && continues_character(text[pos]));
  return pos;
}

}  // namespace

SourceSpan AlignedText::span_at(size_t pos) const {
  if (changed_) return alignment_[pos];
  size_t first = begin_ + pos;
  while (first > begin_ && continues_character(source_[first])) --first;
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(next_boundary(source_, first))};
}

SourceSpan AlignedText::source_span(size_t begin, size_t end) const {
  return {span_at(begin).begin, span_at(end - 1).end};
}

AlignedText AlignedText::slice(size_t begin, size_t end) const {
  if (!changed_) return AlignedText(source_, begin_ + begin, begin_ + end, track_);
  const SourceSpan span = track_ ? source_span(begin, end) : SourceSpan{0, 0};
  AlignedText out(source_, span.begin, span.end, track_);
  out.max_size_ = max_size_;
  out.changed_ = true;
  out.text_ = text_.substr(begin, end - begin);
  if (track_) {
    const auto first = alignment_.begin() + static_cast<ptrdiff_t>(begin);
    out.alignment_.assign(first, first + static_cast<ptrdiff_t>(end - begin));
  }
  return out;
}

/// HF transforms the bytes that stem from a part of the source that is not empty: an insertion before the
/// first character, which belongs to nothing, stays.
size_t AlignedText::first_wide_byte() const {
  if (!changed_ || !track_) return 0;
  const auto wide = [](const SourceSpan& span) { return span.begin != span.end; };
  return static_cast<size_t>(std::find_if(alignment_.begin(), alignment_.end(), wide) - alignment_.begin());
}

void AlignedText::transform(const std::vector<CharChange>& changes, size_t num_removed_first) {
  const std::string_view old = text();
  if (old.empty()) return;
  TextBuilder out(*this);
  size_t pos = first_wide_byte();
  out.keep(0, pos);
  const auto skip = [&](size_t count) {
    for (; count > 0 && pos < old.size(); --count) pos = next_boundary(old, pos);
  };
  skip(num_removed_first);
  std::string encoded;
  for (const CharChange& change : changes) {
    encoded.clear();
    append_utf8(encoded, change.character);
    if (change.change > 0) {
      out.add_behind(encoded, pos);
    } else {
      out.add(encoded, std::min(pos, old.size() - 1));
      skip(1 + static_cast<size_t>(-change.change));
    }
  }
  out.commit_to(*this);
}

void AlignedText::replace(const std::vector<TextSpan>& spans, std::string_view content) {
  TextBuilder out(*this);
  for (const TextSpan& span : spans) {
    if (span.is_match) {
      out.add_behind(content, span.end);
    } else {
      out.keep(span.begin, span.end);
    }
  }
  out.commit_to(*this);
}

void AlignedText::prepend(std::string_view prefix) {
  const std::string_view old = text();
  if (old.empty()) return;
  TextBuilder out(*this);
  if (prefix.empty()) {
    // HF takes the first character for an insertion, which then belongs to nothing.
    const size_t second = next_boundary(old, 0);
    out.add_behind(old.substr(0, second), 0);
    out.keep(second, old.size());
  } else {
    out.add(prefix, 0);
    out.keep(0, old.size());
  }
  out.commit_to(*this);
}

void TextBuilder::keep(size_t begin, size_t end) {
  append(from_->text().substr(begin, end - begin));
  if (!from_->track_) return;
  if (from_->changed_) {
    const auto first = from_->alignment_.begin();
    alignment_.insert(alignment_.end(), first + static_cast<ptrdiff_t>(begin),
                      first + static_cast<ptrdiff_t>(end));
    return;
  }
  for (size_t pos = begin; pos < end;) {
    const SourceSpan span = from_->span_at(pos);
    add_span(span.end - span.begin, span);
    pos += span.end - span.begin;
  }
}

void TextBuilder::add(std::string_view bytes, size_t pos) {
  append(bytes);
  if (from_->track_) add_span(bytes.size(), from_->span_at(pos));
}

void TextBuilder::add_behind(std::string_view bytes, size_t end) {
  if (end > 0) return add(bytes, end - 1);
  append(bytes);
  const auto begin = static_cast<uint32_t>(from_->begin_);
  if (from_->track_) add_span(bytes.size(), {begin, begin});
}

void TextBuilder::append(std::string_view bytes) {
  if (text_.size() + bytes.size() > from_->max_size_)
    throw FormatError("tokenizer.json: normalizer and pre_tokenizer make a text more than 64 times as long");
  text_ += bytes;
}

void TextBuilder::add_span(size_t count, SourceSpan span) {
  alignment_.insert(alignment_.end(), count, span);
}

void TextBuilder::commit_to(AlignedText& text) {
  text.text_ = std::move(text_);
  text.alignment_ = std::move(alignment_);
  text.changed_ = true;
}

}  // namespace cohort
