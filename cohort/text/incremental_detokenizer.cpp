#include "cohort/text/incremental_detokenizer.h"

#include "cohort/text/byte_level.h"
#include "libs/common/utf8.h"

namespace cohort {

std::string IncrementalDetokenizer::push(int32_t id) {
  const std::string* token = tokenizer_->decoded_token(id, options_);
  if (token == nullptr) return "";
  switch (tokenizer_->decoder().shape().kind) {
    case TokenDecoderShape::Kind::kBytes:
      pending_ += from_byte_characters(*token).value_or(*token);
      return take_certain_utf8(pending_);
    case TokenDecoderShape::Kind::kPieces:
      return push_piece(*token);
    case TokenDecoderShape::Kind::kWhole:
      held_ids_.push_back(id);
  }
  return "";
}

std::string IncrementalDetokenizer::finish() {
  switch (tokenizer_->decoder().shape().kind) {
    case TokenDecoderShape::Kind::kBytes:
      return take_all_utf8(pending_);
    case TokenDecoderShape::Kind::kPieces:
      return strip(flush_bytes());
    case TokenDecoderShape::Kind::kWhole:
      break;
  }
  std::string text = tokenizer_->decode(held_ids_, options_);
  held_ids_.clear();
  return text;
}

std::string IncrementalDetokenizer::push_piece(const std::string& token) {
  const std::string piece = tokenizer_->decoder().piece(token, is_first_);
  is_first_ = false;
  if (tokenizer_->decoder().shape().byte_fallback) {
    if (const int byte = fallback_byte(piece); byte >= 0) {
      pending_ += static_cast<char>(byte);
      return "";
    }
  }
  return strip(flush_bytes() + piece);
}

std::string IncrementalDetokenizer::flush_bytes() {
  std::string text = pending_.empty() ? "" : text_of_fallback_bytes(pending_);
  pending_.clear();
  return text;
}

std::string IncrementalDetokenizer::strip(const std::string& text) {
  const std::string& content = tokenizer_->decoder().shape().strip;
  size_t begin = 0;
  for (; strips_left_ > 0 && text.compare(begin, content.size(), content) == 0; --strips_left_)
    begin += content.size();
  if (begin < text.size()) strips_left_ = 0;
  return text.substr(begin);
}

}  // namespace cohort
