#include "cohort/text/text_stream.h"

#include <algorithm>
#include <string_view>

namespace cohort {

std::string TextStream::push(int32_t id) {
  text_ += detokenizer_.push(id);
  const size_t certain = num_certain();
  if (certain <= num_given_) return {};
  std::string piece = text_.substr(num_given_, certain - num_given_);
  num_given_ = certain;
  return piece;
}

std::string TextStream::finish(const std::string& text) {
  std::string rest = text.size() > num_given_ ? text.substr(num_given_) : std::string();
  num_given_ = text.size();
  return rest;
}

/// Bytes in front of the first stop string, or of the longest end of the text that begins one.
size_t TextStream::num_certain() const {
  size_t certain = text_.size();
  for (const std::string& stop : stop_strings_) {
    certain = std::min(certain, text_.find(stop, num_given_));
    for (size_t size = std::min(stop.size() - 1, text_.size()); size > 0; --size) {
      if (!text_.ends_with(std::string_view(stop).substr(0, size))) continue;
      certain = std::min(certain, text_.size() - size);
      break;
    }
  }
  return certain;
}

}  // namespace cohort
