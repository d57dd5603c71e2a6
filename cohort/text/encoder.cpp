#include "cohort/text/encoder.h"

#include <algorithm>

#include "libs/common/utf8.h"

namespace cohort {

std::unique_ptr<Bpe::Work> Tokenizer::WorkPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Bpe::Work> work = std::move(free_.back());
      free_.pop_back();
      return work;
    }
  }
  return std::make_unique<Bpe::Work>();
}

void Tokenizer::WorkPool::give_back(std::unique_ptr<Bpe::Work> work) {
  work->merger.trim();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(work));
}

Tokenizer::Encoder::Encoder(const Tokenizer& tokenizer, std::string_view text, bool with_offsets)
    : tokenizer_(tokenizer), text_(text), with_offsets_(with_offsets), work_(tokenizer.pool_->take()) {
  const PreTokenizer& pre_tokenizer = tokenizer.pre_tokenizer_;
  const bool changes_first = !tokenizer.normalizer_.empty() && pre_tokenizer.needs_source();
  track_ = with_offsets || changes_first || pre_tokenizer.needs_tracking() ||
           tokenizer.normalizer_.needs_tracking();
}

Tokenizer::Encoder::~Encoder() { tokenizer_.pool_->give_back(std::move(work_)); }

void Tokenizer::Encoder::run(EncodeOptions options) {
  for (const AddedTokenPiece& piece : tokenizer_.raw_matcher_.split(text_)) {
    if (piece.id) {
      const SourceSpan span{static_cast<uint32_t>(piece.begin), static_cast<uint32_t>(piece.end)};
      add_added(*piece.id, text_.substr(piece.begin, piece.end - piece.begin), span);
    } else {
      encode_between(piece.begin, piece.end);
    }
  }
  const PostProcessor& post_processor = tokenizer_.post_processor_;
  if (with_offsets_) {
    convert_to_code_points();
    for (const OffsetTrim& one : post_processor.trims) trim(one);
  }
  if (!options.add_special_tokens) return;
  const auto surround = [](auto& values, size_t before, size_t behind, auto value) {
    values.insert(values.begin(), before, value);
    values.insert(values.end(), behind, value);
  };
  tokens_.ids.insert(tokens_.ids.begin(), post_processor.prefix.begin(), post_processor.prefix.end());
  tokens_.ids.insert(tokens_.ids.end(), post_processor.suffix.begin(), post_processor.suffix.end());
  if (with_offsets_)
    surround(places_, post_processor.prefix.size(), post_processor.suffix.size(), Place{0, 0, 0, 0});
}

Encoding Tokenizer::Encoder::take_encoding() {
  Encoding encoding{take_ids(), {}};
  encoding.offsets.reserve(places_.size());
  for (const Place& place : places_) encoding.offsets.push_back({place.begin, place.end});
  return encoding;
}

/// What lies between the added tokens that are not normalized.
void Tokenizer::Encoder::encode_between(size_t begin, size_t end) {
  AlignedText text(text_, begin, end, track_);
  tokenizer_.normalizer_.apply(text);
  const std::vector<AddedTokenPiece> pieces = tokenizer_.normalized_matcher_.split(text.text());
  if (pieces.size() == 1 && !pieces[0].id) return encode_normalized(text);
  for (const AddedTokenPiece& piece : pieces) {
    AlignedText part = text.slice(piece.begin, piece.end);
    if (piece.id) {
      const SourceSpan span = with_offsets_ ? text.source_span(piece.begin, piece.end) : SourceSpan{0, 0};
      add_added(*piece.id, part.text(), span);
    } else {
      encode_normalized(part);
    }
  }
}

void Tokenizer::Encoder::encode_normalized(AlignedText& text) {
  tokenizer_.pre_tokenizer_.split(text, words_);
  const std::string_view bytes = text.text();
  for (const TextSpan& word : words_) {
    const size_t first = tokens_.size();
    tokenizer_.model_.encode(bytes.substr(word.begin, word.end - word.begin), tokens_, *work_);
    if (with_offsets_) place_tokens(text, word, first);
  }
}

void Tokenizer::Encoder::add_added(int32_t id, std::string_view spelling, SourceSpan span) {
  tokens_.add(id, 0);
  if (!with_offsets_) return;
  places_.push_back({span.begin, span.end, leading_spaces(spelling), trailing_spaces(spelling)});
}

/// Tokens number `first` and on are those of `word`.
void Tokenizer::Encoder::place_tokens(const AlignedText& text, const TextSpan& word, size_t first) {
  size_t begin = word.begin;
  for (size_t i = first; i < tokens_.size(); ++i) {
    const size_t end = begin + tokens_.lengths[i];
    Place place{};
    if (end <= word.end) {
      const SourceSpan span = text.source_span(begin, end);
      place = {span.begin, span.end, 0, 0};
    } else {
      // Fallback bytes of a prefix or suffix reach behind the word, where HF leaves offsets as they are.
      place = {static_cast<int64_t>(begin - word.begin), static_cast<int64_t>(end - word.begin), 0, 0};
    }
    if (!tokenizer_.post_processor_.trims.empty()) {
      const Token* token = tokenizer_.find(tokens_.ids[i]);
      place.leading_spaces = token->leading_spaces;
      place.trailing_spaces = token->trailing_spaces;
    }
    places_.push_back(place);
    begin = end;
  }
}

/// A byte within a character counts as that character's first; ends behind the text as HF has them.
void Tokenizer::Encoder::convert_to_code_points() {
  const auto size = static_cast<int64_t>(text_.size());
  std::vector<uint32_t> index;  // of the code point, by byte; not needed where all are ASCII
  if (skip_ascii(text_, 0) < text_.size()) {
    index.resize(text_.size() + 1);
    uint32_t count = 0;
    for (size_t i = 0; i < text_.size(); ++i) {
      if ((static_cast<uint8_t>(text_[i]) & 0xC0) != 0x80) ++count;
      index[i] = count - 1;
    }
    index[text_.size()] = count;
  }
  const auto code_point = [&](int64_t byte) -> int64_t {
    return index.empty() ? byte : index[static_cast<size_t>(byte)];
  };
  for (Place& place : places_) {
    if (place.begin >= size) continue;
    place.begin = code_point(place.begin);
    place.end = place.end <= size ? code_point(place.end) : place.begin + 2;
  }
}

void Tokenizer::Encoder::trim(const OffsetTrim& trim) {
  for (size_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    int64_t leading = place.leading_spaces;
    if (leading > 0) {
      const bool is_first = (i == 0 && !trim.behind_prefix) || place.begin == 0;
      if (is_first && trim.add_prefix_space && leading == 1) leading = 0;
      place.begin = std::min(place.begin + leading, place.end);
    }
    if (place.trailing_spaces > 0 && place.end >= place.trailing_spaces)
      place.end = std::max(place.end - place.trailing_spaces, place.begin);
  }
}

}  // namespace cohort
