// The "normalizer" of tokenizer.json: what changes a text before it is cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/text/aligned_text.h"
#include "cohort/text/component.h"

namespace cohort {

/// One step of a normalizer. Immutable.
class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  virtual void apply(AlignedText& text) const = 0;
};

class Normalizer {
 public:
  /// Throws FormatError naming a type that is not supported.
  explicit Normalizer(const TokenizerJson& config);

  void apply(AlignedText& text) const;

  /// `text` must be well-formed UTF-8.
  std::string normalize(std::string_view text) const;

  bool empty() const { return steps_.empty(); }

  /// Whether even the text depends on the source spans, so that they must be tracked.
  bool needs_tracking() const { return needs_tracking_; }

 private:
  void add_step(const TokenizerJson& config);

  std::vector<std::shared_ptr<const NormalizerStep>> steps_;
  bool needs_tracking_ = false;
};

}  // namespace cohort
