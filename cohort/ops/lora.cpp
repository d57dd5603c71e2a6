#include "cohort/ops/lora.h"

#include <ATen/Parallel.h>

#include <cmath>

#include "cohort/core/error.h"
#include "cohort/ops/gradient.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

at::ScalarType leaf_dtype(const LoraPart& part) { return part.a.scalar_type(); }

/// [num_rows, width]: 0 for an element that is left out, else 1 / (1 - probability).
at::Tensor dropout_factors(const AdapterDropout& dropout, const LoraPart& part, int64_t num_rows,
                           int64_t width) {
  const auto given = static_cast<int64_t>(dropout.rows.size());
  COHORT_CHECK(given <= num_rows, given, " dropout rows for ", num_rows);
  at::Tensor factors = at::zeros({num_rows, width}, leaf_dtype(part));  // rows of no sequence stay 0
  const double kept = 1.0 / (1.0 - dropout.probability);
  AT_DISPATCH_FLOATING_TYPES(factors.scalar_type(), "dropout_factors", [&] {
    auto* data = factors.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, given, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t c = 0; c < width; ++c) {
          const double draw =
              random_unit(dropout.seed, {dropout.step, dropout.rows[row], part.id, static_cast<uint64_t>(c)});
          data[row * width + c] = static_cast<scalar_t>(draw < dropout.probability ? 0.0 : kept);
        }
      }
    });
  });
  return factors.to(part.a.device());
}

/// `x` in the dtype of the part's leaves, after dropout.
at::Tensor dropped(const at::Tensor& x, const LoraPart& part, const AdapterDropout* dropout) {
  at::Tensor wide = x.to(leaf_dtype(part));
  return dropout == nullptr ? wide : wide * dropout_factors(*dropout, part, x.size(0), x.size(1));
}

}  // namespace

Lora::Lora(std::vector<LoraPart> parts) : parts_(std::move(parts)) {
  for (const LoraPart& part : parts_) {
    packed_.push_back({Linear(part.a, {}, leaf_dtype(part)), Linear(part.b, {}, leaf_dtype(part)), {}});
  }
}

bool Lora::has_magnitudes() const { return parts_.front().magnitude.defined(); }

Lora Lora::frozen_copy() const {
  Lora copy = *this;
  for (LoraPart& part : copy.parts_) {
    for (at::Tensor* leaf : {&part.a, &part.b, &part.magnitude}) {
      if (leaf->defined()) *leaf = at::empty_like(leaf->detach(), leaf->options().device(at::kMeta));
    }
  }
  for (Packed& packed : copy.packed_) {
    packed.a = packed.a.frozen_copy();
    packed.b = packed.b.frozen_copy();
  }
  return copy;
}

void Lora::repack(const at::Tensor& weight) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const LoraPart& part = parts_[i];
    packed_[i].a.repack();
    packed_[i].b.repack();
    if (!part.magnitude.defined()) continue;
    const at::Tensor rows = weight.detach().narrow(0, part.row, part.rows);
    packed_[i].gain = part.magnitude.detach() / adapted_row_norms(rows, part, packed_[i].b);
  }
}

void Lora::add_to(at::Tensor& base, const at::Tensor& x, const at::Tensor& bias,
                  const AdapterDropout* dropout) const {
  const bool adds_bias = has_magnitudes() && bias.defined();
  int64_t done = 0;
  const auto skip_up_to = [&](int64_t end) {
    if (adds_bias && end > done) base.narrow(1, done, end - done).add_(bias.narrow(0, done, end - done));
  };
  for (size_t i = 0; i < parts_.size(); ++i) {
    const LoraPart& part = parts_[i];
    skip_up_to(part.row);
    const at::Tensor own = base.narrow(1, part.row, part.rows);
    at::Tensor sum = packed_[i].b.product(packed_[i].a.product(dropped(x, part, dropout)));
    sum.mul_(part.scale).add_(own);
    if (packed_[i].gain.defined()) sum.mul_(packed_[i].gain);
    if (adds_bias) sum.add_(bias.narrow(0, part.row, part.rows));
    own.copy_(sum);
    done = part.row + part.rows;
  }
  skip_up_to(base.size(1));
}

Lora::Gradients Lora::backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& base,
                               const AdapterDropout* dropout) const {
  const at::ScalarType wide = leaf_dtype(parts_.front());
  Gradients result{has_magnitudes() ? grad.to(wide).clone() : grad,
                   at::zeros(x.sizes(), x.options().dtype(wide))};
  for (size_t i = 0; i < parts_.size(); ++i) {
    const LoraPart& part = parts_[i];
    at::Tensor own = grad.narrow(1, part.row, part.rows).to(wide);
    const at::Tensor input = dropped(x, part, dropout), inner = packed_[i].a.product(input);
    if (packed_[i].gain.defined()) {
      const at::Tensor sum =
          base.narrow(1, part.row, part.rows).to(wide) + packed_[i].b.product(inner) * part.scale;
      const at::Tensor norms = part.magnitude.detach() / packed_[i].gain;
      accumulate_grad(part.magnitude, (own * sum).sum(0) / norms);
      own = own * packed_[i].gain;
      result.base.narrow(1, part.row, part.rows).copy_(own);
    }
    own = own * part.scale;
    const at::Tensor grad_input = packed_[i].a.backward(packed_[i].b.backward(own, inner), input);
    if (dropout == nullptr) {
      result.x.add_(grad_input);
    } else {
      result.x.add_(grad_input * dropout_factors(*dropout, part, x.size(0), x.size(1)));
    }
  }
  return result;
}

at::Tensor adapted_row_norms(const at::Tensor& weight, const LoraPart& part, const Linear& b) {
  const at::ScalarType wide = leaf_dtype(part);
  // (B A)^T by the product that gives the same bits on any number of threads.
  const at::Tensor update = b.product(part.a.detach().t().contiguous()).t();
  const at::Tensor sum = (weight.to(wide) + update * part.scale).cpu().contiguous();
  at::Tensor norms = at::empty({sum.size(0)}, wide);
  const int64_t width = sum.size(1);
  AT_DISPATCH_FLOATING_TYPES(wide, "adapted_row_norms", [&] {
    const auto* data = sum.const_data_ptr<scalar_t>();
    auto* out = norms.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, sum.size(0), 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        double total = 0.0;
        for (int64_t c = 0; c < width; ++c) {
          const auto value = static_cast<double>(data[row * width + c]);
          total += value * value;
        }
        out[row] = static_cast<scalar_t>(std::sqrt(total));
      }
    });
  });
  return norms.to(weight.device());
}

}  // namespace cohort
