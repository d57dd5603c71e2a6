#include "cohort/text/normalizer.h"

#include <algorithm>
#include <array>

#include "cohort/core/error.h"
#include "cohort/text/byte_level.h"
#include "cohort/text/split.h"
#include "cohort/text/unicode_forms.h"
#include "libs/common/unicode.h"
#include "libs/common/utf8.h"

namespace cohort {
namespace {

constexpr const char* kWhere = "normalizer";

class FormStep : public NormalizerStep {
 public:
  explicit FormStep(UnicodeForm form) : form_(form) {}
  void apply(AlignedText& text) const override {
    if (!is_in_form(text.text(), form_)) text.transform(changes_to_form(text.text(), form_));
  }

 private:
  UnicodeForm form_;
};

class LowercaseStep : public NormalizerStep {
 public:
  void apply(AlignedText& text) const override {
    const std::string_view old = text.text();
    std::vector<CharChange> changes;
    for (size_t pos = 0; pos < old.size();) {
      const char32_t c = next_code_point(old, pos);
      changes.push_back({to_lowercase(c), 0});
      if (c == 0x130) changes.push_back({0x307, 1});
    }
    text.transform(changes);
  }
};

/// Drops the characters that `keep` refuses and replaces the others by `map` of them.
void filter_and_map(AlignedText& text, const auto& keep, const auto& map) {
  const std::string_view old = text.text();
  std::vector<CharChange> changes;
  size_t num_removed_first = 0;
  bool any_change = false;
  for (size_t pos = 0; pos < old.size();) {
    const char32_t c = next_code_point(old, pos);
    if (keep(c)) {
      changes.push_back({map(c), 0});
      any_change = any_change || map(c) != c;
      continue;
    }
    any_change = true;
    if (changes.empty()) {
      ++num_removed_first;
    } else {
      --changes.back().change;
    }
  }
  if (any_change) text.transform(changes, num_removed_first);
}

class StripAccentsStep : public NormalizerStep {
 public:
  void apply(AlignedText& text) const override {
    filter_and_map(
        text, [](char32_t c) { return !combining_marks().contains(c); }, [](char32_t c) { return c; });
  }
};

/// The cleaning of the NMT project: control characters vanish, odd spaces become plain ones.
class NmtStep : public NormalizerStep {
 public:
  void apply(AlignedText& text) const override { filter_and_map(text, keeps, plain); }

 private:
  static bool keeps(char32_t c) {
    return !((c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
             c == 0x9F);
  }
  static char32_t plain(char32_t c) {
    constexpr std::array<char32_t, 10> kSpaces = {0x9,    0xA,    0xC,    0xD,    0x1680,
                                                  0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD};
    const bool odd =
        (c >= 0x200B && c <= 0x200F) || std::find(kSpaces.begin(), kSpaces.end(), c) != kSpaces.end();
    return odd ? U' ' : c;
  }
};

class StripStep : public NormalizerStep {
 public:
  StripStep(bool left, bool right) : left_(left), right_(right) {}
  void apply(AlignedText& text) const override {
    const std::string_view old = text.text();
    size_t end = old.size();
    while (right_ && end > 0 && white_space().contains(last_code_point(old.substr(0, end)))) {
      do --end;
      while ((static_cast<uint8_t>(old[end]) & 0xC0) == 0x80);
    }
    size_t begin = 0;
    for (size_t pos = 0; left_ && pos < end && white_space().contains(next_code_point(old, pos));)
      begin = pos;
    if (begin == 0 && end == old.size()) return;
    TextBuilder out(text);
    out.keep(begin, std::max(begin, end));
    out.commit_to(text);
  }

 private:
  bool left_;
  bool right_;
};

class PrependStep : public NormalizerStep {
 public:
  explicit PrependStep(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(AlignedText& text) const override { text.prepend(prefix_); }

 private:
  std::string prefix_;
};

class ReplaceStep : public NormalizerStep {
 public:
  ReplaceStep(PatternPtr pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(AlignedText& text) const override {
    std::vector<TextSpan> spans;
    pattern_->find_all(text.text(), spans);
    const bool any = std::any_of(spans.begin(), spans.end(), [](const TextSpan& s) { return s.is_match; });
    if (any) text.replace(spans, content_);
  }

 private:
  PatternPtr pattern_;
  std::string content_;
};

class ByteLevelStep : public NormalizerStep {
 public:
  void apply(AlignedText& text) const override {
    const std::string_view old = text.text();
    TextBuilder out(text);
    for (size_t pos = 0; pos < old.size(); ++pos)
      out.add(byte_characters()[static_cast<uint8_t>(old[pos])], pos);
    out.commit_to(text);
  }
};

}  // namespace

Normalizer::Normalizer(const TokenizerJson& config) {
  for (const TokenizerJson& step : flatten_sequence(config, "normalizers", kWhere)) add_step(step);
}

void Normalizer::add_step(const TokenizerJson& config) {
  const std::string type = string_field(config, "type", kWhere);
  const auto add = [&]<typename Step>(Step step) {
    steps_.push_back(std::make_shared<const Step>(std::move(step)));
  };
  if (type == "NFC") {
    add(FormStep(UnicodeForm::kNfc));
  } else if (type == "NFD") {
    add(FormStep(UnicodeForm::kNfd));
  } else if (type == "NFKC") {
    add(FormStep(UnicodeForm::kNfkc));
  } else if (type == "NFKD") {
    add(FormStep(UnicodeForm::kNfkd));
  } else if (type == "Lowercase") {
    add(LowercaseStep());
  } else if (type == "StripAccents") {
    add(StripAccentsStep());
  } else if (type == "Nmt") {
    add(NmtStep());
  } else if (type == "Strip") {
    const bool left = bool_field(config, "strip_left", kWhere);
    add(StripStep(left, bool_field(config, "strip_right", kWhere)));
  } else if (type == "Prepend") {
    const std::string prefix = string_field(config, "prepend", kWhere);
    if (prefix.size() > 256) throw FormatError("normalizer: \"prepend\" is longer than 256 bytes");
    needs_tracking_ = needs_tracking_ || prefix.empty();
    add(PrependStep(prefix));
  } else if (type == "Replace") {
    const TokenizerJson& pattern = field(config, "pattern", kWhere);
    // A regular expression, and an empty text, may match nothing at the beginning.
    const TokenizerJson& literal = field(pattern, "String", str(kWhere, ": \"pattern\""));
    needs_tracking_ = needs_tracking_ || literal.is_null() || literal == "";
    add(ReplaceStep(parse_pattern(pattern, kWhere), string_field(config, "content", kWhere)));
  } else if (type == "ByteLevel") {
    add(ByteLevelStep());
  } else {
    throw_unsupported(
        kWhere, type,
        "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Nmt, Strip, Prepend, Replace, ByteLevel, Sequence");
  }
}

void Normalizer::apply(AlignedText& text) const {
  for (const auto& step : steps_) step->apply(text);
}

std::string Normalizer::normalize(std::string_view text) const {
  AlignedText aligned(text, 0, text.size(), needs_tracking_);
  apply(aligned);
  return std::string(aligned.text());
}

}  // namespace cohort
