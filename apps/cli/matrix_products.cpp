#include "apps/cli/matrix_products.h"

#include <algorithm>
#include <ranges>

#include "cohort/ops/token_logprobs.h"

namespace cohort::cli {
namespace {

/// Waits for a device.
void wait_for(const at::Tensor& product) { product.flatten().narrow(0, 0, 1).cpu(); }

}  // namespace

MatrixProducts::MatrixProducts(const Decoder& decoder, const std::vector<Pass>& passes)
    : decoder_(decoder), layers_(decoder.layer_products()) {
  int64_t most_rows = kPeakRows;
  bool has_backward = false;
  for (const Pass& pass : passes) {
    most_rows = std::max(most_rows, std::min(pass.rows, pass.rows_at_once));
    has_backward = has_backward || pass.has_backward;
  }
  for (const LayerProduct& product : layers_) make_rows(*product.linear, most_rows, has_backward);
  make_rows(decoder.head(), head_rows_at_once(), has_backward);
}

int64_t MatrixProducts::head_rows_at_once() const { return logit_rows_at_once(decoder_.config().vocab_size); }

void MatrixProducts::make_rows(const Linear& linear, int64_t rows, bool has_backward) {
  const auto make = [&](int64_t width) {
    at::Tensor& random = random_[width];
    if (random.defined() && random.size(0) >= rows) return;
    random = at::randn({rows, width}, decoder_.options());
  };
  make(linear.weight().size(1));
  if (has_backward) make(linear.out_features());
}

at::Tensor MatrixProducts::input(const Linear& linear, int64_t rows) const {
  return random_.at(linear.weight().size(1)).narrow(0, 0, rows);
}

at::Tensor MatrixProducts::gradient(const Linear& linear, int64_t rows) const {
  return random_.at(linear.out_features()).narrow(0, 0, rows);
}

double MatrixProducts::multiply_largest() const {
  const at::NoGradGuard no_grad;
  const auto size = [](const LayerProduct& product) { return product.linear->weight().numel(); };
  const Linear& largest = *std::ranges::max_element(layers_, {}, size)->linear;
  wait_for(largest.product(input(largest, kPeakRows)));
  return 2.0 * static_cast<double>(kPeakRows * largest.weight().numel());
}

void MatrixProducts::multiply(const Pass& pass) const {
  const at::NoGradGuard no_grad;
  const int64_t pieces = (pass.rows + pass.rows_at_once - 1) / pass.rows_at_once;
  for (int64_t i = 0; i < pieces; ++i) {
    const auto share = [&](int64_t rows) { return rows * (i + 1) / pieces - rows * i / pieces; };
    multiply_piece({share(pass.rows), share(pass.result_rows), share(pass.head_rows), pass.rows_at_once,
                    pass.has_backward});
  }
}

void MatrixProducts::multiply_piece(const Pass& piece) const {
  at::Tensor last;
  for (const LayerProduct& product : layers_) {
    const int64_t count = product.rows(piece.rows, piece.result_rows);
    if (count > 0) last = product.linear->product(input(*product.linear, count));
  }
  const Linear& head = decoder_.head();
  const at::Tensor head_weight = piece.has_backward ? head.weight_for_backward() : at::Tensor();
  for (int64_t row = 0; row < piece.head_rows; row += head_rows_at_once()) {
    const int64_t count = std::min(head_rows_at_once(), piece.head_rows - row);
    last = head.product(input(head, count));
    if (piece.has_backward) last = head.backward(gradient(head, count), input(head, count), head_weight);
  }
  if (piece.has_backward) {
    for (const LayerProduct& product : std::views::reverse(layers_)) {
      const Linear& linear = *product.linear;
      const int64_t count = product.rows(piece.rows, piece.result_rows);
      if (count > 0) last = linear.backward(gradient(linear, count), input(linear, count));
    }
  }
  wait_for(last);
}

}  // namespace cohort::cli
