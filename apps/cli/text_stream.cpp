#include "apps/cli/text_stream.h"

#include <algorithm>
#include <string_view>

namespace cohort::cli {

void TextStream::push(int32_t id) {
  text_ += detokenizer_.push(id);
  const size_t certain = num_certain();
  if (certain <= num_written_) return;
  out_ << std::string_view(text_).substr(num_written_, certain - num_written_) << std::flush;
  num_written_ = certain;
}

void TextStream::finish(const std::string& text) {
  if (text.size() > num_written_) out_ << std::string_view(text).substr(num_written_);
  out_ << std::flush;
  num_written_ = text.size();
}

/// Bytes in front of the first stop string, or of the longest end of the text that begins one.
size_t TextStream::num_certain() const {
  size_t certain = text_.size();
  for (const std::string& stop : stop_strings_) {
    certain = std::min(certain, text_.find(stop, num_written_));
    for (size_t size = std::min(stop.size() - 1, text_.size()); size > 0; --size) {
      if (!text_.ends_with(std::string_view(stop).substr(0, size))) continue;
      certain = std::min(certain, text_.size() - size);
      break;
    }
  }
  return certain;
}

}  // namespace cohort::cli
