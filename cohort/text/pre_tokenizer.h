// The "pre_tokenizer" of tokenizer.json: cuts a text into the words inside which BPE merges.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/text/aligned_text.h"
#include "cohort/text/component.h"

namespace cohort {

/// One step of a pre-tokenizer: cuts `words`, spans of `text`, further; may change the text. Immutable.
class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  virtual void apply(AlignedText& text, std::vector<TextSpan>& words) const = 0;
};

class PreTokenizer {
 public:
  /// Throws FormatError naming a type or a pattern that is not supported. No pre-tokenizer leaves texts
  /// whole.
  explicit PreTokenizer(const TokenizerJson& config);

  /// Whether the last step spells bytes in the byte-level alphabet.
  bool ends_with_byte_level() const { return ends_with_byte_level_; }

  /// Leaves that last spelling out: the model takes bytes. For the owner, before the first text.
  void leave_bytes();

  /// The words of `text`, none empty, as spans of it.
  void split(AlignedText& text, std::vector<TextSpan>& words) const;

  /// Whether cutting depends on the source spans of a text that was changed before.
  bool needs_source() const { return needs_source_; }

  /// Whether it does so even if nothing changed the text before.
  bool needs_tracking() const { return needs_tracking_; }

 private:
  void add_step(const TokenizerJson& config);
  void add_byte_level(const TokenizerJson& config);
  void add_metaspace(const TokenizerJson& config);
  void add_split(const TokenizerJson& config, const std::string& type);

  std::vector<std::shared_ptr<const PreTokenizerStep>> steps_;
  bool ends_with_byte_level_ = false;
  bool needs_source_ = false;
  bool needs_tracking_ = false;
};

}  // namespace cohort
