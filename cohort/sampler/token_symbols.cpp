#include "cohort/sampler/token_symbols.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/text/byte_level.h"

namespace cohort {
namespace {

std::string bytes_of(const Tokenizer& tokenizer, const std::string& token, bool is_first) {
  const TokenDecoderShape& shape = tokenizer.decoder().shape();
  if (shape.kind == TokenDecoderShape::Kind::kBytes) return from_byte_characters(token).value_or(token);
  std::string piece = tokenizer.decoder().piece(token, is_first);
  if (shape.byte_fallback) {
    if (const int byte = fallback_byte(piece); byte >= 0) piece.assign(1, static_cast<char>(byte));
  }
  for (int64_t i = 0; is_first && i < shape.num_strip && piece.starts_with(shape.strip); ++i)
    piece.erase(0, shape.strip.size());
  return piece;
}

size_t shared_bytes(const std::string& a, const std::string& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

TokenSymbols::TokenSymbols(const Tokenizer& tokenizer, bool is_first) : texts_(tokenizer.vocab_size()) {
  if (tokenizer.decoder().shape().kind == TokenDecoderShape::Kind::kWhole)
    throw UserError("tokenizer.json: its decoder makes no text until the last token is known");
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string* token = tokenizer.decoded_token(id, {.skip_special_tokens = false});
    if (token == nullptr || tokenizer.is_special(id)) continue;
    texts_[id] = bytes_of(tokenizer, *token, is_first);
    if (texts_[id].size() == 1) bytes_[static_cast<unsigned char>(texts_[id][0])] = true;
    if (!texts_[id].empty()) order_.push_back(id);
  }
  std::ranges::stable_sort(order_, {}, [&](int32_t id) -> const std::string& { return texts_[id]; });
  shared_.resize(order_.size());
  for (size_t i = 1; i < order_.size(); ++i)
    shared_[i] = shared_bytes(texts_[order_[i - 1]], texts_[order_[i]]);
}

void TokenSymbols::for_each_accepted(int32_t begin,
                                     const std::function<int32_t(int32_t position, Symbol byte)>& next,
                                     const std::function<void(int32_t id)>& f) const {
  std::vector<int32_t> positions = {begin};  // after each byte of the text that was read last
  for (size_t i = 0; i < order_.size(); ++i) {
    const std::string& text = texts_[order_[i]];
    if (shared_[i] >= positions.size()) continue;  // its beginning has failed
    positions.resize(shared_[i] + 1);
    while (positions.size() <= text.size()) {
      const auto byte = static_cast<unsigned char>(text[positions.size() - 1]);
      const int32_t position = next(positions.back(), byte);
      if (position < 0) break;
      positions.push_back(position);
    }
    if (positions.size() > text.size()) f(order_[i]);
  }
}

}  // namespace cohort
