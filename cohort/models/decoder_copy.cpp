// A decoder's weights as they are at one moment, and frozen weights that several decoders share.
#include "cohort/core/error.h"
#include "cohort/models/decoder.h"
#include "cohort/models/decoder_layer.h"

namespace cohort {
namespace {

/// In the compute dtype; a copy, unless the weights stay as they are.
at::Tensor embedding_of(const at::Tensor& embedding, at::ScalarType compute, bool is_frozen) {
  return embedding.detach().to(compute, /*non_blocking=*/false, /*copy=*/!is_frozen);
}

}  // namespace

Decoder::Decoder(FrozenCopyOf from)
    : config_(from.decoder.config_),
      compute_(from.decoder.compute_),
      embedding_(embedding_of(from.decoder.embedding_, compute_, from.decoder.is_frozen_)),
      embedding_scale_(from.decoder.embedding_scale_),
      final_norm_(from.decoder.final_norm_.frozen_copy()),
      head_(from.decoder.head_.frozen_copy()),
      planned_length_(from.decoder.planned_length_),
      is_frozen_(true),
      weights_version_(from.decoder.weights_version_),
      lora_config_(from.decoder.lora_config_),
      is_adapted_(from.decoder.is_adapted_) {
  ropes_ = from.decoder.ropes(0);
  for (const auto& layer : from.decoder.layers_)
    layers_.push_back(std::make_unique<DecoderLayer>(layer->frozen_copy(config_)));
  if (from.decoder.saved_embedding_.defined())
    saved_embedding_ =
        from.decoder.saved_embedding_.detach().to(compute_, /*non_blocking=*/false, /*copy=*/true);
  if (from.decoder.saved_head_) saved_head_ = from.decoder.saved_head_->frozen_copy();
  for (const auto& [name, weight] : from.decoder.named_weights_)
    named_weights_.emplace_back(name, at::empty_like(weight, weight.options().device(at::kMeta)));
}

std::shared_ptr<const Decoder> Decoder::copy_frozen() const {
  const at::NoGradGuard no_grad;
  return std::shared_ptr<const Decoder>(new Decoder(FrozenCopyOf{*this}));
}

std::unique_ptr<Decoder> Decoder::share_frozen() const {
  COHORT_CHECK(is_frozen_ && !is_adapted_,
               "only the weights of a frozen decoder without adapters are shared");
  const at::NoGradGuard no_grad;
  return std::unique_ptr<Decoder>(new Decoder(FrozenCopyOf{*this}));
}

}  // namespace cohort
