// The weights that a pass reads. Policy, references and teachers are the same type.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "cohort/models/decoder.h"

namespace cohort {

/// A decoder and how its adapters are used. The decoder is borrowed or owned; a copy of a snapshot shares it.
class WeightSnapshot {
 public:
  /// Borrows `decoder`: the weights are those that it has at the time of each pass.
  WeightSnapshot(const Decoder& decoder, AdapterUse use = {})  // NOLINT(google-explicit-constructor)
      : decoder_(std::shared_ptr<const void>(), &decoder), use_(std::move(use)) {}

  /// Holds the weights as they are now, while `decoder` is trained on. A pass gives the same bits as one of
  /// `decoder` now, and carries no gradient. Shares all packed weights until the decoder's next refresh(), so
  /// that it takes little memory until then. Must not be called while another thread changes the decoder's
  /// weights.
  static WeightSnapshot of_now(const Decoder& decoder, AdapterUse use = {}) {
    return {decoder.copy_frozen(), std::move(use)};
  }

  const Decoder& decoder() const { return *decoder_; }
  const AdapterUse& adapters() const { return use_; }

 private:
  WeightSnapshot(std::shared_ptr<const Decoder> decoder, AdapterUse use)
      : decoder_(std::move(decoder)), use_(std::move(use)) {}

  std::shared_ptr<const Decoder> decoder_;
  AdapterUse use_;
};

}  // namespace cohort
