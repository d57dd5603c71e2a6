#include "cohort/train/run/optimizer.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numeric>

#include "cohort/core/error.h"

namespace cohort {
namespace {

/// Sum of squares in double precision, over blocks of a fixed size that are added in order.
double sum_of_squares(const at::Tensor& grad) {
  if (!grad.is_cpu() || grad.scalar_type() != at::kFloat)
    return grad.to(at::kDouble).square().sum().item<double>();
  constexpr int64_t kBlock = 1 << 15, kLanes = 8;
  const int64_t count = grad.numel(), blocks = (count + kBlock - 1) / kBlock;
  const float* data = grad.const_data_ptr<float>();
  std::vector<double> sums(blocks);
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      double lanes[kLanes] = {};
      const auto add_square = [&](int64_t i, int64_t lane) {
        lanes[lane] += static_cast<double>(data[i]) * data[i];
      };
      const int64_t last = std::min(count, (block + 1) * kBlock);
      int64_t i = block * kBlock;
      for (; i + kLanes <= last; i += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) add_square(i + lane, lane);
      }
      for (; i < last; ++i) add_square(i, i % kLanes);
      sums[block] = std::accumulate(lanes, lanes + kLanes, 0.0);
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

AdamW::AdamW(std::vector<at::Tensor> parameters, const OptimizerConfig& config)
    : parameters_(std::move(parameters)), config_(config) {
  for (const at::Tensor& parameter : parameters_) {
    exp_avg_.push_back(at::zeros_like(parameter.detach()));
    exp_avg_sq_.push_back(at::zeros_like(parameter.detach()));
    steps_.push_back(at::zeros({}, parameter.options().dtype(at::kFloat).requires_grad(false)));
  }
}

void AdamW::zero_grad() {
  for (const at::Tensor& parameter : parameters_) {
    at::Tensor& grad = parameter.mutable_grad();
    if (grad.defined()) {
      grad.zero_();
    } else {
      grad = at::zeros_like(parameter.detach());
    }
  }
}

double AdamW::grad_norm() const {
  double total = 0.0;
  for (const at::Tensor& parameter : parameters_) total += sum_of_squares(parameter.grad());
  return std::sqrt(total);
}

void AdamW::step(double learning_rate, double norm) {
  const at::NoGradGuard no_grad;
  const double scale =
      config_.max_grad_norm > 0.0 && norm > config_.max_grad_norm ? config_.max_grad_norm / norm : 1.0;
  ++num_updates_;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& grad = parameters_[i].mutable_grad();
    if (scale != 1.0) grad.mul_(scale);
    steps_[i].fill_(static_cast<double>(num_updates_));
    const double decay = parameters_[i].dim() >= 2 ? config_.weight_decay : 0.0;
    at::_fused_adamw_({parameters_[i]}, {grad}, {exp_avg_[i]}, {exp_avg_sq_[i]}, {}, {steps_[i]},
                      learning_rate, config_.adam_beta1, config_.adam_beta2, decay, config_.adam_epsilon,
                      /*amsgrad=*/false,
                      /*maximize=*/false);
  }
}

NamedTensors AdamW::save() const {
  NamedTensors tensors;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    tensors.emplace_back(str("exp_avg.", i), exp_avg_[i]);
    tensors.emplace_back(str("exp_avg_sq.", i), exp_avg_sq_[i]);
  }
  return tensors;
}

void AdamW::load(const SafetensorsFile& file, int64_t num_updates) {
  const at::NoGradGuard no_grad;
  const auto restore = [&](const std::string& name, at::Tensor& target) {
    const at::Tensor tensor = file.tensor(name);
    if (tensor.sizes() != target.sizes()) {
      throw FormatError(cohort::str("the checkpoint's optimizer tensor \"", name, "\" is ", tensor.sizes(),
                                    "; the model asks for ", target.sizes()));
    }
    target.copy_(tensor);
  };
  for (size_t i = 0; i < parameters_.size(); ++i) {
    restore(str("exp_avg.", i), exp_avg_[i]);
    restore(str("exp_avg_sq.", i), exp_avg_sq_[i]);
  }
  num_updates_ = num_updates;
}

}  // namespace cohort
