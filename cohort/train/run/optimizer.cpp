#include "cohort/train/run/optimizer.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/tensor/values.h"

namespace cohort {
namespace {

constexpr char kAverage[] = "exp_avg.", kSquares[] = "exp_avg_sq.";

/// Sums of squares in double precision over blocks of a fixed size, on the CPU each added in order.
std::vector<double> sums_of_squares(const at::Tensor& grad) {
  if (!grad.is_cpu() || grad.scalar_type() != at::kFloat) {
    const at::Tensor squares = grad.to(at::kDouble).square();
    const int64_t rest = (dist::kBlockLength - squares.numel() % dist::kBlockLength) % dist::kBlockLength;
    const at::Tensor blocks =
        at::constant_pad_nd(squares, {0, rest}).view({-1, dist::kBlockLength}).sum(1).cpu();
    return {blocks.const_data_ptr<double>(), blocks.const_data_ptr<double>() + blocks.numel()};
  }
  constexpr int64_t kBlock = dist::kBlockLength, kLanes = 8;
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
  return sums;
}

std::vector<bool> are_set(const std::vector<Linear*>& linears, size_t count) {
  std::vector<bool> result(count);
  for (size_t i = 0; i < linears.size(); ++i) result[i] = linears[i] != nullptr;
  return result;
}

}  // namespace

AdamW::AdamW(const std::vector<at::Tensor>& leaves, const OptimizerConfig& config, dist::Group& processes,
             std::vector<Linear*> packed)
    : leaves_(leaves),
      packed_(processes.size() > 1 ? std::move(packed) : std::vector<Linear*>()),
      shards_(processes, leaves_, are_set(packed_, leaves_.size())),
      config_(config) {
  for (const dist::LeafPart& part : shards_.own()) {
    State& state = states_.emplace_back();
    if (is_packed(part.leaf)) state.master = part_of(leaves_[part.leaf], part).clone();
  }
  for (Linear* linear : packed_) {
    if (linear != nullptr) linear->free_master();
  }
  for (size_t i = 0; i < states_.size(); ++i) {  // once there is room
    const dist::LeafPart& part = shards_.own()[i];
    const auto options = leaves_[part.leaf].options().requires_grad(false);
    states_[i].exp_avg = at::zeros({part.count}, options);
    states_[i].exp_avg_sq = at::zeros({part.count}, options);
    states_[i].step = at::zeros({}, options.dtype(at::kFloat));
  }
}

void AdamW::zero_grad() {
  gradients_.clear();
  for (const at::Tensor& leaf : leaves_) {
    at::Tensor& grad = leaf.mutable_grad();
    if (grad.defined()) {
      grad.zero_();
    } else {
      grad = at::zeros_like(leaf.detach());
    }
  }
}

double AdamW::grad_norm() {
  gradients_ = shards_.sum_gradients();
  std::vector<std::vector<double>> sums;
  for (const at::Tensor& gradient : gradients_) sums.push_back(sums_of_squares(gradient));
  double total = 0.0;
  for (const std::vector<double>& of_leaf : shards_.gather_blocks(sums))
    total += std::accumulate(of_leaf.begin(), of_leaf.end(), 0.0);
  return std::sqrt(total);
}

std::vector<at::Tensor> AdamW::masters() const {
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < states_.size(); ++i) {
    const dist::LeafPart& part = shards_.own()[i];
    parts.push_back(is_packed(part.leaf) ? states_[i].master : part_of(leaves_[part.leaf], part));
  }
  return parts;
}

void AdamW::step(double learning_rate, double norm) {
  const at::NoGradGuard no_grad;
  const double scale =
      config_.max_grad_norm > 0.0 && norm > config_.max_grad_norm ? config_.max_grad_norm / norm : 1.0;
  const std::vector<at::Tensor> gradients =
      processes().size() > 1 ? std::move(gradients_) : shards_.sum_gradients();
  gradients_.clear();
  COHORT_CHECK(gradients.size() == states_.size(), "grad_norm() has not added the gradients up");
  const std::vector<at::Tensor> parts = masters();
  ++num_updates_;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (scale != 1.0) gradients[i].mul_(scale);
    const State& state = states_[i];
    state.step.fill_(static_cast<double>(num_updates_));
    const double decay = leaves_[shards_.own()[i].leaf].dim() >= 2 ? config_.weight_decay : 0.0;
    at::_fused_adamw_({parts[i]}, {gradients[i]}, {state.exp_avg}, {state.exp_avg_sq}, {}, {state.step},
                      learning_rate, config_.adam_beta1, config_.adam_beta2, decay, config_.adam_epsilon,
                      /*amsgrad=*/false,
                      /*maximize=*/false);
  }
  tell_weights();
}

void AdamW::tell_weights() {
  if (processes().size() == 1) return;
  const std::vector<at::Tensor> parts = masters();
  shards_.gather_whole(parts,
                       [&](int64_t leaf, const at::Tensor& values) { leaves_[leaf].detach().copy_(values); });
  const auto one = std::ranges::find_if(packed_, [](const Linear* linear) { return linear != nullptr; });
  if (one == packed_.end()) return;
  shards_.gather_packed(parts, (*one)->compute_dtype(),
                        [&](int64_t leaf, const at::Tensor& values) { packed_[leaf]->pack(values); });
}

void AdamW::read_masters(const std::function<void(const at::Tensor&)>& read) const {
  const at::NoGradGuard no_grad;
  shards_.gather_packed(masters(), at::kFloat, [&](int64_t leaf, const at::Tensor& values) {
    allocate_values(leaves_[leaf]);
    leaves_[leaf].detach().copy_(values);
    read(leaves_[leaf]);
    free_values(leaves_[leaf]);
  });
}

void AdamW::write_masters(const std::function<void(const at::Tensor&)>& write) {
  const at::NoGradGuard no_grad;
  for (size_t leaf = 0; leaf < packed_.size(); ++leaf) {
    if (packed_[leaf] == nullptr) continue;
    allocate_values(leaves_[leaf]);
    write(leaves_[leaf]);
    for (size_t i = 0; i < states_.size(); ++i) {
      const dist::LeafPart& part = shards_.own()[i];
      if (part.leaf == static_cast<int64_t>(leaf)) states_[i].master.copy_(part_of(leaves_[leaf], part));
    }
    packed_[leaf]->pack(leaves_[leaf].detach());
    free_values(leaves_[leaf]);
  }
}

NamedTensors AdamW::moments_like() const {
  NamedTensors moments;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    for (const char* name : {kAverage, kSquares}) {
      const auto options = leaves_[i].options().requires_grad(false).device(at::kMeta);
      moments.emplace_back(str(name, i), at::empty(leaves_[i].sizes(), options));
    }
  }
  return moments;
}

void AdamW::read_moments(const std::function<void(const std::string&, const at::Tensor&)>& read) const {
  for (const char* name : {kAverage, kSquares}) {
    std::vector<at::Tensor> parts;
    for (const State& state : states_) parts.push_back(name == kAverage ? state.exp_avg : state.exp_avg_sq);
    const dist::Shards::TakeLeaf take = [&](int64_t leaf, const at::Tensor& values) {
      read(str(name, leaf), values);
    };
    shards_.gather_whole(parts, take);
    shards_.gather_packed(parts, at::kFloat, take);
  }
}

void AdamW::write_moments(const std::function<at::Tensor(const std::string&)>& get) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < states_.size(); ++i) {
    const dist::LeafPart& part = shards_.own()[i];
    states_[i].exp_avg.copy_(part_of(get(str(kAverage, part.leaf)), part));
    states_[i].exp_avg_sq.copy_(part_of(get(str(kSquares, part.leaf)), part));
  }
}

}  // namespace cohort
