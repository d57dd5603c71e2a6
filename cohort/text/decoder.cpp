#include "cohort/text/decoder.h"

#include <algorithm>
#include <charconv>

#include "cohort/core/error.h"
#include "cohort/text/byte_level.h"
#include "cohort/text/split.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr const char* kWhere = "decoder";
constexpr const char* kReplacement = "\xEF\xBF\xBD";

using Tokens = std::vector<std::string>;

std::string joined(const Tokens& tokens) {
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  std::string out;
  size_t covered = 0;
  for (size_t pos; (pos = text.find(from, covered)) != std::string::npos; covered = pos + from.size()) {
    out.append(text, covered, pos - covered);
    out += to;
  }
  text = out + text.substr(covered);
}

size_t total_size(const Tokens& tokens) {
  size_t size = 0;
  for (const std::string& token : tokens) size += token.size();
  return size;
}

/// A file must not make texts grow without bound.
size_t size_limit(const Tokens& tokens) { return 16 * total_size(tokens) + (size_t{64} << 10); }

[[noreturn]] void throw_too_long() { throw FormatError("tokenizer.json: decoder makes texts too long"); }

class ByteLevelStep : public TokenDecoderStep {
 public:
  Tokens apply(Tokens tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) bytes += from_byte_characters(token).value_or(token);
    return {take_all_utf8(bytes)};
  }
};

class ReplaceStep : public TokenDecoderStep {
 public:
  ReplaceStep(PatternPtr pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Tokens apply(Tokens tokens) const override {
    std::vector<TextSpan> spans;
    size_t left = size_limit(tokens);
    for (std::string& token : tokens) {
      if (token.empty()) continue;
      spans.clear();
      pattern_->find_all(token, spans);
      std::string out;
      for (const TextSpan& span : spans) {
        out += span.is_match ? content_ : token.substr(span.begin, span.end - span.begin);
        if (out.size() > left) throw_too_long();
      }
      left -= out.size();
      token = std::move(out);
    }
    return tokens;
  }

 private:
  PatternPtr pattern_;
  std::string content_;
};

class ByteFallbackStep : public TokenDecoderStep {
 public:
  Tokens apply(Tokens tokens) const override {
    Tokens out;
    std::string bytes;
    const auto flush = [&] {
      if (!bytes.empty()) out.push_back(text_of_fallback_bytes(bytes));
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = fallback_byte(token); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      out.push_back(std::move(token));
    }
    flush();
    return out;
  }
};

class FuseStep : public TokenDecoderStep {
 public:
  Tokens apply(Tokens tokens) const override { return {joined(tokens)}; }
};

class StripStep : public TokenDecoderStep {
 public:
  StripStep(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  Tokens apply(Tokens tokens) const override {
    for (std::string& token : tokens) {
      size_t begin = 0;
      for (int64_t i = 0; i < start_ && token.compare(begin, content_.size(), content_) == 0; ++i)
        begin += content_.size();
      size_t end = token.size();
      for (int64_t i = 0; i < stop_ && std::string_view(token).substr(0, end).ends_with(content_); ++i)
        end -= content_.size();
      token = end > begin ? token.substr(begin, end - begin) : "";
    }
    return tokens;
  }

 private:
  std::string content_;
  int64_t start_;
  int64_t stop_;
};

class MetaspaceStep : public TokenDecoderStep {
 public:
  MetaspaceStep(std::string replacement, bool prepends)
      : replacement_(std::move(replacement)), prepends_(prepends) {}
  Tokens apply(Tokens tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], replacement_, i == 0 && prepends_ ? "" : " ");
    return tokens;
  }

 private:
  std::string replacement_;
  bool prepends_;
};

/// The suffix at the end of words becomes a space, except in the last token.
class SuffixStep : public TokenDecoderStep {
 public:
  explicit SuffixStep(std::string suffix) : suffix_(std::move(suffix)) {}
  Tokens apply(Tokens tokens) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], suffix_, i + 1 < tokens.size() ? " " : "");
    return tokens;
  }

 private:
  std::string suffix_;
};

/// What stands in for a decoder that is missing.
class SpacesBetweenStep : public TokenDecoderStep {
 public:
  Tokens apply(Tokens tokens) const override {
    for (size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, 1, ' ');
    return tokens;
  }
};

std::string type_of(const TokenizerJson& step) { return string_field(step, "type", kWhere); }

bool metaspace_prepends(const TokenizerJson& config) {
  const TokenizerJson& scheme = field(config, "prepend_scheme", kWhere);
  return bool_field_or(config, "add_prefix_space", kWhere, true) && scheme != "never";
}

}  // namespace

int fallback_byte(const std::string& token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  // Rust's parser takes a plus sign, too.
  const char* first = token.data() + (token[3] == '+' ? 4 : 3);
  const char* last = token.data() + 5;
  int byte = -1;
  const auto [end, error] = std::from_chars(first, last, byte, 16);
  return error == std::errc() && end == last && *first != '-' ? byte : -1;
}

std::string text_of_fallback_bytes(const std::string& bytes) {
  if (!find_invalid_utf8(bytes)) return bytes;
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) out += kReplacement;
  return out;
}

TokenDecoder::TokenDecoder(const TokenizerJson& config) {
  if (config.is_null()) {
    steps_.push_back(std::make_shared<const SpacesBetweenStep>());
    shape_.kind = TokenDecoderShape::Kind::kPieces;
    num_piece_steps_ = 1;
    return;
  }
  const std::vector<TokenizerJson> configs = flatten_sequence(config, "decoders", kWhere);
  for (const TokenizerJson& step : configs) add_step(step);
  find_shape(configs);
}

void TokenDecoder::add_step(const TokenizerJson& config) {
  const std::string type = type_of(config);
  const auto add = [&]<typename Step>(Step step) {
    steps_.push_back(std::make_shared<const Step>(std::move(step)));
  };
  if (type == "ByteLevel") {
    add(ByteLevelStep());
  } else if (type == "Replace") {
    const PatternPtr pattern = parse_pattern(field(config, "pattern", kWhere), kWhere);
    add(ReplaceStep(pattern, string_field(config, "content", kWhere)));
  } else if (type == "ByteFallback") {
    add(ByteFallbackStep());
  } else if (type == "Fuse") {
    add(FuseStep());
  } else if (type == "Strip") {
    const std::string content = character_field(config, "content", kWhere);
    const int64_t start = count_field(config, "start", kWhere);
    add(StripStep(content, start, count_field(config, "stop", kWhere)));
  } else if (type == "Metaspace") {
    add(MetaspaceStep(character_field(config, "replacement", kWhere), metaspace_prepends(config)));
  } else if (type == "BPEDecoder") {
    add(SuffixStep(string_field(config, "suffix", kWhere)));
  } else {
    throw_unsupported(kWhere, type,
                      "ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, BPEDecoder, Sequence");
  }
}

void TokenDecoder::find_shape(const std::vector<TokenizerJson>& configs) {
  size_t next = 0;
  const auto accept = [&](const char* type) {
    const bool found = next < configs.size() && type_of(configs[next]) == type;
    next += found ? 1 : 0;
    return found;
  };
  if (accept("ByteLevel")) {
    accept("Fuse");
    if (next == configs.size()) shape_.kind = TokenDecoderShape::Kind::kBytes;
    return;
  }
  while (accept("Replace") || accept("Metaspace")) ++num_piece_steps_;
  shape_.byte_fallback = accept("ByteFallback");
  if (accept("Fuse") && next < configs.size() && type_of(configs[next]) == "Strip" &&
      count_field(configs[next], "stop", kWhere) == 0) {
    shape_.strip = character_field(configs[next], "content", kWhere);
    shape_.num_strip = count_field(configs[next], "start", kWhere);
    ++next;
  }
  if (next == configs.size()) shape_.kind = TokenDecoderShape::Kind::kPieces;
}

std::string TokenDecoder::decode(std::vector<std::string> tokens) const {
  const size_t limit = size_limit(tokens);
  for (const auto& step : steps_) {
    tokens = step->apply(std::move(tokens));
    if (total_size(tokens) > limit) throw_too_long();
  }
  return joined(tokens);
}

std::string TokenDecoder::piece(const std::string& token, bool is_first) const {
  // The steps ask only whether a token is the first.
  Tokens tokens = is_first ? Tokens{token} : Tokens{"", token};
  for (size_t i = 0; i < num_piece_steps_; ++i) tokens = steps_[i]->apply(std::move(tokens));
  return tokens.back();
}

}  // namespace cohort
