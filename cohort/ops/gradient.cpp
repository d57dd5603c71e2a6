#include "cohort/ops/gradient.h"

#include "cohort/core/error.h"

namespace cohort {
namespace {

thread_local GradientSink* open_sink = nullptr;

}  // namespace

void accumulate_grad(const at::Tensor& leaf, const at::Tensor& update) {
  if (leaf.requires_grad()) gradient_of(leaf).add_(update);
}

at::Tensor& gradient_of(const at::Tensor& leaf) {
  if (open_sink == nullptr) {
    at::Tensor& grad = leaf.mutable_grad();
    if (!grad.defined()) grad = at::zeros_like(leaf.detach());
    return grad;
  }
  auto& entries = open_sink->entries_;
  const auto [place, is_new] = open_sink->places_.try_emplace(leaf.unsafeGetTensorImpl(), entries.size());
  if (is_new) entries.push_back({leaf, at::zeros_like(leaf.detach())});
  return entries[place->second].grad;
}

GradientSink::Scope::Scope(GradientSink& sink) {
  COHORT_CHECK(open_sink == nullptr, "a gradient sink is open on this thread");
  open_sink = &sink;
}

GradientSink::Scope::~Scope() { open_sink = nullptr; }

void GradientSink::add_to_leaves() {
  const at::NoGradGuard no_grad;
  for (const Entry& entry : entries_) accumulate_grad(entry.leaf, entry.grad);
  entries_.clear();
  places_.clear();
}

}  // namespace cohort
