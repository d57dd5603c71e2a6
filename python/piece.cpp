#include "python/piece.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/objectives/advantage_batch.h"

namespace cohort::python {
namespace {

const std::map<std::string_view, const char*> kDocumentation{
#include "documentation.inc"  // made by documentation.py
};

void check_real(const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kFloat && tensor.scalar_type() != at::kDouble)
    throw UserError(
        str("a tensor is ", at::toString(tensor.scalar_type()), ", but must be float32 or float64"));
}

}  // namespace

const char* documentation(const char* function) {
  const auto found = kDocumentation.find(function);
  COHORT_CHECK(found != kDocumentation.end(), function);
  return found->second;
}

void check_alike(std::initializer_list<const at::Tensor*> tensors) {
  const at::Tensor* first = nullptr;
  for (const at::Tensor* tensor : tensors) {
    if (tensor == nullptr) continue;
    check_real(*tensor);
    if (first == nullptr) first = tensor;
    if (tensor->sizes() != first->sizes() || tensor->scalar_type() != first->scalar_type())
      throw UserError(cohort::str("tensors must have one shape and dtype, but there are ", first->sizes(),
                                  " ", at::toString(first->scalar_type()), " and ", tensor->sizes(), " ",
                                  at::toString(tensor->scalar_type())));
  }
}

at::Tensor tensor_like(std::span<const double> numbers, const at::Tensor& like) {
  return at::tensor(at::ArrayRef<double>(numbers.data(), numbers.size()), at::kDouble)
      .reshape(like.sizes())
      .to(like.options());
}

void check_ends(const Integers& group_ends, int64_t count) {
  const std::vector<int64_t>& ends = group_ends.values;
  const int64_t last = ends.empty() ? 0 : ends.back();
  if (!std::ranges::is_sorted(ends) || last != count || (!ends.empty() && ends.front() < 0))
    throw UserError(str("group_ends must ascend and end with ", count, ", where the last group ends"));
}

std::vector<Fork> forks_of(const std::optional<Integers>& places, const std::optional<Integers>& segments,
                           const std::vector<int64_t>& group_ends) {
  if (!places && !segments) return {};
  if (!places || !segments) throw UserError("fork_of and fork_segments go together: give both, or neither");
  const int64_t count = group_ends.empty() ? 0 : group_ends.back();
  for (const auto& [list, name] : {std::pair(&*places, "fork_of"), std::pair(&*segments, "fork_segments")}) {
    if (std::ssize(list->values) != count)
      throw UserError(str(name, " has ", list->values.size(), " numbers, but must have ", count));
  }
  std::vector<Fork> forks;
  int64_t begin = 0;
  for (const int64_t end : group_ends) {
    for (int64_t i = begin; i < end; ++i) {
      const Fork fork{.of = places->values[i], .num_segments = segments->values[i]};
      if (fork.of < -1 || fork.of >= i - begin)
        throw UserError(str("fork_of[", i, "] is ", fork.of,
                            ", but must be the place of a completion before it in its group, or -1"));
      if (fork.num_segments < 0)
        throw UserError(str("fork_segments holds ", fork.num_segments, ", but must be at least 0"));
      forks.push_back(fork);
    }
    begin = end;
  }
  return forks;
}

std::vector<double> numbers_of(const at::Tensor& tensor, const char* what) {
  check_real(tensor);
  if (tensor.dim() != 1) throw UserError(str(what, " must have one dimension, but has ", tensor.dim()));
  return plain_numbers(tensor);
}

}  // namespace cohort::python
