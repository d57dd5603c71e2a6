// A decoder's weights as they are at one moment.
#include "cohort/models/decoder.h"
#include "cohort/models/decoder_layer.h"

namespace cohort {

Decoder::Decoder(FrozenCopyOf from)
    : config_(from.decoder.config_),
      compute_(from.decoder.compute_),
      embedding_(from.decoder.embedding_.detach().to(compute_, /*non_blocking=*/false, /*copy=*/true)),
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

}  // namespace cohort
