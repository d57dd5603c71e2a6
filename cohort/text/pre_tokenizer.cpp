#include "cohort/text/pre_tokenizer.h"

#include <algorithm>
#include <cctype>

#include "cohort/core/error.h"
#include "cohort/core/str.h"
#include "cohort/text/regex_translate.h"
#include "cohort/text/unicode.h"

namespace cohort {
namespace {

const std::string kWhere = "pre_tokenizer";

SplitBehavior parse_behavior(const std::string& name) {
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  throw FormatError(str("pre_tokenizer: Split has the unknown behavior \"", name, "\""));
}

/// {"Regex": "..."} or {"String": "..."}.
Regex parse_pattern(const TokenizerJson& pattern) {
  if (!field(pattern, "Regex", kWhere).is_null()) {
    return Regex(translate_pattern(string_field(pattern, "Regex", kWhere)));
  }
  std::string quoted;
  for (const char c : string_field(pattern, "String", kWhere)) {
    if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c))) quoted += '\\';
    quoted += c;
  }
  return Regex(quoted);
}

/// A match whose predecessor (in the order given) is a gap joins it.
std::vector<TextSpan> join_matches_to_predecessor(const auto& spans) {
  std::vector<TextSpan> out;
  bool previous_is_match = false;
  for (const TextSpan& span : spans) {
    if (span.is_match && !previous_is_match && !out.empty()) {
      out.back().begin = std::min(out.back().begin, span.begin);
      out.back().end = std::max(out.back().end, span.end);
    } else {
      out.push_back({span.begin, span.end, false});
    }
    previous_is_match = span.is_match;
  }
  return out;
}

std::vector<TextSpan> join_alike(const std::vector<TextSpan>& spans) {
  std::vector<TextSpan> out;
  bool previous_is_match = false;
  for (const TextSpan& span : spans) {
    if (span.is_match == previous_is_match && !out.empty()) {
      out.back().end = span.end;
    } else {
      out.push_back({span.begin, span.end, false});
    }
    previous_is_match = span.is_match;
  }
  return out;
}

}  // namespace

std::vector<TextSpan> apply_behavior(const std::vector<TextSpan>& spans, SplitBehavior behavior) {
  std::vector<TextSpan> out;
  switch (behavior) {
    case SplitBehavior::kIsolated:
      out = spans;
      break;
    case SplitBehavior::kRemoved:
      std::copy_if(spans.begin(), spans.end(), std::back_inserter(out),
                   [](const auto& s) { return !s.is_match; });
      break;
    case SplitBehavior::kMergedWithPrevious:
      out = join_matches_to_predecessor(spans);
      break;
    case SplitBehavior::kMergedWithNext:
      out = join_matches_to_predecessor(std::vector<TextSpan>(spans.rbegin(), spans.rend()));
      std::reverse(out.begin(), out.end());
      break;
    case SplitBehavior::kContiguous:
      out = join_alike(spans);
      break;
  }
  std::erase_if(out, [](const TextSpan& span) { return span.begin == span.end; });
  return out;
}

PreTokenizer::PreTokenizer(const TokenizerJson& config) {
  std::string last_type;
  for (const TokenizerJson& step : flatten_sequence(config, "pretokenizers", kWhere)) {
    if (last_type == "ByteLevel") throw FormatError("pre_tokenizer: nothing may follow ByteLevel");
    last_type = string_field(step, "type", kWhere);
    if (last_type == "Split") {
      steps_.push_back(split_step(step));
    } else if (last_type == "Digits") {
      steps_.push_back(digits_step(step));
    } else if (last_type == "ByteLevel") {
      steps_.push_back(byte_level_step(step));
    } else {
      throw_unsupported(kWhere, last_type, "Split, Digits, ByteLevel, Sequence");
    }
  }
  if (last_type != "ByteLevel")
    throw FormatError("pre_tokenizer: only byte-level BPE is supported: ByteLevel is missing");
}

PreTokenizer::Step PreTokenizer::split_step(const TokenizerJson& config) {
  return {.regex = parse_pattern(field(config, "pattern", kWhere)),
          .behavior = parse_behavior(string_field(config, "behavior", kWhere)),
          .invert = bool_field(config, "invert", kWhere)};
}

PreTokenizer::Step PreTokenizer::digits_step(const TokenizerJson& config) {
  const bool individual = bool_field(config, "individual_digits", kWhere);
  return {.regex = Regex(class_pattern(numeric())),
          .behavior = individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous};
}

PreTokenizer::Step PreTokenizer::byte_level_step(const TokenizerJson& config) {
  constexpr const char* kGpt2Pattern =
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  Step step;
  step.add_prefix_space = bool_field(config, "add_prefix_space", kWhere);
  if (bool_field_or(config, "use_regex", kWhere, true)) step.regex = Regex(translate_pattern(kGpt2Pattern));
  return step;
}

std::vector<std::string> PreTokenizer::split(std::string_view text) const {
  std::vector<std::string> words;
  if (!text.empty()) words.emplace_back(text);
  for (const Step& step : steps_) {
    std::vector<std::string> pieces;
    for (std::string& word : words) {
      if (step.add_prefix_space && word.front() != ' ') word.insert(0, 1, ' ');
      if (!step.regex) {
        pieces.push_back(std::move(word));
        continue;
      }
      std::vector<TextSpan> spans = step.regex->find_all(word);
      if (step.invert)
        std::for_each(spans.begin(), spans.end(), [](TextSpan& s) { s.is_match = !s.is_match; });
      for (const TextSpan& span : apply_behavior(spans, step.behavior)) {
        pieces.push_back(word.substr(span.begin, span.end - span.begin));
      }
    }
    words = std::move(pieces);
  }
  return words;
}

}  // namespace cohort
