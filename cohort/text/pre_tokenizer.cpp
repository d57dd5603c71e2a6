#include "cohort/text/pre_tokenizer.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/text/byte_level.h"
#include "cohort/text/regex_translate.h"
#include "cohort/text/split.h"
#include "libs/common/str.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr const char* kWhere = "pre_tokenizer";

/// Cuts every word at the matches of a pattern.
void cut(const AlignedText& text, std::vector<TextSpan>& words, const Pattern& pattern,
         SplitBehavior behavior, bool invert) {
  std::vector<TextSpan> pieces;
  for (const TextSpan& word : words) {
    const size_t first = pieces.size();
    pattern.find_all(text.text().substr(word.begin, word.end - word.begin), pieces);
    for (size_t i = first; i < pieces.size(); ++i) {
      pieces[i].begin += word.begin;
      pieces[i].end += word.begin;
      pieces[i].is_match = pieces[i].is_match != invert;
    }
    apply_behavior(pieces, first, behavior);
  }
  words = std::move(pieces);
}

/// Rewrites every word: `rewrite(out, word)` adds the new one to `out`.
void rewrite_words(AlignedText& text, std::vector<TextSpan>& words, const auto& rewrite) {
  TextBuilder out(text);
  for (TextSpan& word : words) {
    const size_t begin = out.size();
    rewrite(out, word);
    word = {begin, out.size(), false};
  }
  out.commit_to(text);
}

class SplitStep : public PreTokenizerStep {
 public:
  SplitStep(PatternPtr pattern, SplitBehavior behavior, bool invert = false)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void apply(AlignedText& text, std::vector<TextSpan>& words) const override {
    cut(text, words, *pattern_, behavior_, invert_);
  }

 private:
  PatternPtr pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class FixedLengthStep : public PreTokenizerStep {
 public:
  explicit FixedLengthStep(int64_t length) : length_(length) {}
  void apply(AlignedText& text, std::vector<TextSpan>& words) const override {
    std::vector<TextSpan> pieces;
    for (const TextSpan& word : words) {
      for (size_t pos = word.begin; pos < word.end;) {
        const size_t begin = pos;
        for (int64_t i = 0; i < length_ && pos < word.end; ++i) next_code_point(text.text(), pos);
        pieces.push_back({begin, pos, false});
      }
    }
    words = std::move(pieces);
  }

 private:
  int64_t length_;
};

/// Puts a space before words that begin with none.
class PrefixSpaceStep : public PreTokenizerStep {
 public:
  void apply(AlignedText& text, std::vector<TextSpan>& words) const override {
    const std::string_view old = text.text();
    const auto lacks_space = [&](const TextSpan& word) { return old[word.begin] != ' '; };
    if (std::none_of(words.begin(), words.end(), lacks_space)) return;
    rewrite_words(text, words, [&](TextBuilder& out, const TextSpan& word) {
      if (lacks_space(word)) out.add(" ", word.begin);
      out.keep(word.begin, word.end);
    });
  }
};

class ByteSpellingStep : public PreTokenizerStep {
 public:
  void apply(AlignedText& text, std::vector<TextSpan>& words) const override {
    rewrite_words(text, words, [&](TextBuilder& out, const TextSpan& word) {
      for (size_t pos = word.begin; pos < word.end; ++pos)
        out.add(byte_characters()[static_cast<uint8_t>(text.text()[pos])], pos);
    });
  }
};

enum class PrependScheme { kFirst, kNever, kAlways };

class MetaspaceStep : public PreTokenizerStep {
 public:
  MetaspaceStep(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(scheme), split_(split) {
    set_ = CodePointSet({{last_code_point(replacement_), last_code_point(replacement_)}});
  }

  void apply(AlignedText& text, std::vector<TextSpan>& words) const override {
    const std::string_view old = text.text();
    rewrite_words(text, words, [&](TextBuilder& out, const TextSpan& word) {
      if (prepends_to(text, word)) out.add(replacement_, word.begin);
      size_t kept = word.begin;
      const std::string_view until_end = old.substr(0, word.end);
      for (size_t pos; (pos = until_end.find(' ', kept)) != std::string_view::npos;) {
        out.keep(kept, pos);
        out.add(replacement_, pos);
        kept = pos + 1;
      }
      out.keep(kept, word.end);
    });
    if (split_) cut(text, words, *code_point_pattern(set_), SplitBehavior::kMergedWithNext, false);
  }

 private:
  bool prepends_to(const AlignedText& text, const TextSpan& word) const {
    if (scheme_ == PrependScheme::kNever) return false;
    const std::string_view begin = text.text().substr(word.begin, word.end - word.begin);
    if (begin.starts_with(' ') || begin.starts_with(replacement_)) return false;
    return scheme_ == PrependScheme::kAlways || text.begins_at_source(word.begin);
  }

  std::string replacement_;
  CodePointSet set_;
  PrependScheme scheme_;
  bool split_;
};

PrependScheme parse_scheme(const TokenizerJson& config) {
  const bool given = !field(config, "prepend_scheme", kWhere).is_null();
  const std::string name = given ? string_field(config, "prepend_scheme", kWhere) : "always";
  const bool never = !bool_field_or(config, "add_prefix_space", kWhere, true);
  if (never && given && name != "never")
    throw FormatError("pre_tokenizer: Metaspace's \"add_prefix_space\" contradicts its \"prepend_scheme\"");
  if (never || name == "never") return PrependScheme::kNever;
  if (name == "first") return PrependScheme::kFirst;
  if (name == "always") return PrependScheme::kAlways;
  throw FormatError(str("pre_tokenizer: Metaspace has the unknown prepend_scheme ", quoted_name(name)));
}

/// \w of Rust's regular expressions, white space, and the rest.
std::string whitespace_pattern() {
  const CodePointSet& words = word_characters();
  std::vector<CodePointRange> either = words.ranges();
  either.insert(either.end(), white_space().ranges().begin(), white_space().ranges().end());
  return class_pattern(words) + "+|" + class_pattern(CodePointSet(std::move(either)).complement()) + "+";
}

}  // namespace

PreTokenizer::PreTokenizer(const TokenizerJson& config) {
  for (const TokenizerJson& step : flatten_sequence(config, "pretokenizers", kWhere)) add_step(step);
}

void PreTokenizer::add_step(const TokenizerJson& config) {
  const std::string type = string_field(config, "type", kWhere);
  ends_with_byte_level_ = type == "ByteLevel";
  if (type == "ByteLevel") {
    add_byte_level(config);
  } else if (type == "Metaspace") {
    add_metaspace(config);
  } else if (type == "FixedLength") {
    const int64_t length =
        field(config, "length", kWhere).is_null() ? 5 : count_field(config, "length", kWhere);
    if (length == 0) throw FormatError("pre_tokenizer: FixedLength's \"length\" must be at least 1");
    steps_.push_back(std::make_shared<const FixedLengthStep>(length));
  } else {
    add_split(config, type);
  }
}

void PreTokenizer::add_byte_level(const TokenizerJson& config) {
  constexpr const char* kGpt2Pattern =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  if (bool_field(config, "add_prefix_space", kWhere))
    steps_.push_back(std::make_shared<const PrefixSpaceStep>());
  if (bool_field_or(config, "use_regex", kWhere, true))
    steps_.push_back(
        std::make_shared<const SplitStep>(regex_pattern(kGpt2Pattern), SplitBehavior::kIsolated));
  steps_.push_back(std::make_shared<const ByteSpellingStep>());
}

void PreTokenizer::add_metaspace(const TokenizerJson& config) {
  const PrependScheme scheme = parse_scheme(config);
  needs_source_ = needs_source_ || scheme == PrependScheme::kFirst;
  needs_tracking_ = needs_tracking_ || (scheme == PrependScheme::kFirst && !steps_.empty());
  const std::string replacement = character_field(config, "replacement", kWhere);
  const bool split = bool_field_or(config, "split", kWhere, true);
  steps_.push_back(std::make_shared<const MetaspaceStep>(replacement, scheme, split));
}

/// The steps that only cut.
void PreTokenizer::add_split(const TokenizerJson& config, const std::string& type) {
  const auto add = [&](PatternPtr pattern, SplitBehavior behavior, bool invert = false) {
    steps_.push_back(std::make_shared<const SplitStep>(std::move(pattern), behavior, invert));
  };
  if (type == "Split") {
    PatternPtr pattern = parse_pattern(field(config, "pattern", kWhere), kWhere);
    const SplitBehavior behavior = parse_behavior(string_field(config, "behavior", kWhere), kWhere);
    add(std::move(pattern), behavior, bool_field(config, "invert", kWhere));
  } else if (type == "Digits") {
    const bool individual = bool_field(config, "individual_digits", kWhere);
    add(code_point_pattern(numeric()), individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  } else if (type == "Punctuation") {
    const bool given = !field(config, "behavior", kWhere).is_null();
    const std::string behavior = given ? string_field(config, "behavior", kWhere) : "Isolated";
    add(code_point_pattern(punctuation()), parse_behavior(behavior, kWhere));
  } else if (type == "Whitespace") {
    add(translated_pattern(whitespace_pattern()), SplitBehavior::kRemoved, true);
  } else if (type == "WhitespaceSplit" || type == "BertPreTokenizer") {
    add(code_point_pattern(white_space()), SplitBehavior::kRemoved);
    if (type == "BertPreTokenizer") add(code_point_pattern(punctuation()), SplitBehavior::kIsolated);
  } else if (type == "CharDelimiterSplit") {
    add(literal_pattern(character_field(config, "delimiter", kWhere)), SplitBehavior::kRemoved);
  } else {
    throw_unsupported(
        kWhere, type,
        "Split, Digits, Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer, CharDelimiterSplit, "
        "FixedLength, Metaspace, ByteLevel, Sequence");
  }
}

void PreTokenizer::leave_bytes() {
  COHORT_CHECK(ends_with_byte_level_, "There is no spelling to leave out.");
  steps_.pop_back();
}

void PreTokenizer::split(AlignedText& text, std::vector<TextSpan>& words) const {
  words.clear();
  if (!text.text().empty()) words.push_back({0, text.text().size(), false});
  for (const auto& step : steps_) step->apply(text, words);
}

}  // namespace cohort
