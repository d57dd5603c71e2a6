// Gradients through packed rows: of shared prompts against every completion alone, of the kernels against
// float64, of float64 against finite differences; and that neither cutting nor recomputing changes them.
#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/train/run/microbatches.h"
#include "cohort/train/run/packing.h"
#include "libs/common/random.h"
#include "tests/models/tiny_decoder.h"
#include "tests/rounding.h"

namespace cohort {
namespace {

constexpr double kTemperature = 1.3;

/// Groups with completions of many lengths, some tokens with a kept set.
struct RaggedGroups {
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::vector<Completion>> completions;

  /// Rows of one pass; a parameter's gradient is a sum over them.
  int64_t num_rows() const {
    int64_t rows = 0;
    for (const std::vector<int32_t>& prompt : prompts) rows += std::ssize(prompt);
    for (const auto& group : completions) {
      for (const Completion& completion : group) rows += std::ssize(completion.token_ids);
    }
    return rows;
  }

  std::vector<PackGroup> groups() const {
    std::vector<PackGroup> groups;
    for (size_t p = 0; p < prompts.size(); ++p) {
      groups.push_back({&prompts[p], {}});
      for (const Completion& completion : completions[p]) groups.back().completions.push_back(&completion);
    }
    return groups;
  }

  /// Every completion with a prompt of its own.
  std::vector<PackGroup> single_groups() const {
    std::vector<PackGroup> groups;
    for (const PackGroup& group : this->groups()) {
      for (const PackedCompletion& packed : group.completions) groups.push_back({group.prompt_ids, {packed}});
    }
    return groups;
  }
};

std::vector<int32_t> random_ids(CounterRng& random, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(random.below(300)));
  return ids;
}

RaggedGroups make_groups(const std::vector<int64_t>& prompt_lengths, int64_t num_completions,
                         int64_t longest) {
  CounterRng random(23);
  RaggedGroups ragged;
  for (const int64_t length : prompt_lengths) {
    ragged.prompts.push_back(random_ids(random, length));
    ragged.completions.emplace_back(num_completions);
    for (Completion& completion : ragged.completions.back()) {
      completion.token_ids = random_ids(random, 1 + random.below(longest));
      if (random.below(2) == 0) continue;
      for (const int32_t id : completion.token_ids) {
        std::vector<int32_t> kept = random_ids(random, 40);
        kept.push_back(id);
        std::sort(kept.begin(), kept.end());
        kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
        completion.kept_ids.push_back(std::make_shared<const std::vector<int32_t>>(std::move(kept)));
      }
    }
  }
  return ragged;
}

/// A loss of log-probabilities and entropies with another coefficient for every token; the same for a token
/// wherever it is packed.
at::Tensor loss_of(const Decoder& decoder, const PackedBatch& batch) {
  std::vector<double> coefficients;
  for (const PackedCompletion& packed : batch.completions) {
    const std::vector<int32_t>& ids = packed.completion->token_ids;
    CounterRng random(ids.size(), {static_cast<uint64_t>(ids[0])});
    for (size_t i = 0; i < ids.size(); ++i) coefficients.push_back(random.next_unit() - 0.4);
  }
  const TokenLogprobs values = packed_logprobs(decoder, batch, kTemperature);
  const at::Tensor weights = at::tensor(coefficients, at::kDouble).to(values.logprobs.scalar_type());
  return (values.logprobs * weights + values.entropies * (0.1 - weights)).sum();
}

double loss_of(const Decoder& decoder, const std::vector<PackGroup>& groups) {
  const at::NoGradGuard no_grad;
  return loss_of(decoder, *pack(groups, decoder.options())).item<double>();
}

/// How a gradient is taken; the loss of the balance of experts is counted in `balance_loss`.
struct Pass {
  int64_t max_rows = 1 << 20;
  bool recompute = false;
  double router_aux_loss_coef = 0.0;
  double balance_loss = 0.0;
};

/// The gradient of each parameter, summed over micro-batches, in float64.
std::vector<at::Tensor> gradients(const Decoder& decoder, const std::vector<PackGroup>& groups, Pass& pass) {
  for (at::Tensor parameter : decoder.parameters()) parameter.mutable_grad() = at::Tensor();
  const double balance = balance_weight(decoder.config(), groups, pass.router_aux_loss_coef);
  const auto pieces = cut_into_microbatches(groups, pass.max_rows);
  std::vector<double> balance_losses(pieces.size());
  for_each_microbatch(decoder, std::ssize(pieces), [&](int64_t i) {
    const auto batch = pack(pieces[i], decoder.options());
    batch->input.recompute = pass.recompute;
    batch->balance_experts(balance);
    loss_of(decoder, *batch).backward();
    balance_losses[i] = batch->balance.loss;
  });
  for (const double loss : balance_losses) pass.balance_loss += loss;
  std::vector<at::Tensor> result;
  for (const at::Tensor& parameter : decoder.parameters()) {
    EXPECT_TRUE(parameter.grad().defined()) << "parameter " << result.size();
    result.push_back(parameter.grad().defined() ? parameter.grad().to(at::kDouble).clone() : at::Tensor());
  }
  return result;
}

std::vector<at::Tensor> gradients(const Decoder& decoder, const std::vector<PackGroup>& groups,
                                  int64_t max_rows = 1 << 20, bool recompute = false) {
  Pass pass{.max_rows = max_rows, .recompute = recompute};
  return gradients(decoder, groups, pass);
}

/// The largest over parameters of |a - b| / |b|.
double relative_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double largest = 0.0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double size = b[i].norm().item<double>();
    EXPECT_GT(size, 0.0) << "parameter " << i << " has no gradient";
    largest = std::max(largest, (a[i] - b[i]).norm().item<double>() / size);
  }
  return largest;
}

/// `decoder` with the same weights in another compute dtype.
std::unique_ptr<Decoder> copy_of(const Decoder& decoder, at::ScalarType compute) {
  const at::NoGradGuard no_grad;
  auto copy = std::make_unique<Decoder>(decoder.config(), compute, at::kCPU);
  for (size_t i = 0; i < decoder.parameters().size(); ++i)
    copy->parameters()[i].copy_(decoder.parameters()[i]);
  copy->refresh();
  return copy;
}

void expect_equal(const std::vector<at::Tensor>& alone, const std::vector<at::Tensor>& together,
                  int threads) {
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_TRUE(at::equal(alone[i], together[i])) << threads << " threads, parameter " << i;
}

class PackedGradientsTest : public testing::TestWithParam<const char*> {
 protected:
  const ThreadCount one_thread_{1};
  const std::unique_ptr<Decoder> float32_ = tiny_decoder(tiny_config(GetParam()), at::kFloat);
  const std::unique_ptr<Decoder> float64_ = copy_of(*float32_, at::kDouble);
};

INSTANTIATE_TEST_SUITE_P(Families, PackedGradientsTest, testing::ValuesIn(kArchitectures));

TEST_P(PackedGradientsTest, SharingAPromptChangesNothing) {
  const RaggedGroups ragged = make_groups({1, 17, 70, 33}, 4, 30);
  EXPECT_LT(relative_difference(gradients(*float64_, ragged.groups()),
                                gradients(*float64_, ragged.single_groups())),
            1e-10);
}

TEST_P(PackedGradientsTest, KernelsAgreeWithFloat64) {
  const RaggedGroups ragged = make_groups({1, 16, 70, 130}, 4, 40);
  const std::vector<at::Tensor> exact = gradients(*float64_, ragged.groups());
  EXPECT_LT(relative_difference(gradients(*float32_, ragged.groups()), exact), 1e-4);
  // Rounding may choose another expert.
  const double tolerance = float32_->config().num_experts > 0 ? 0.4 : 0.1;
  EXPECT_LT(relative_difference(gradients(*copy_of(*float32_, at::kBFloat16), ragged.groups()), exact),
            tolerance);
}

TEST_P(PackedGradientsTest, CuttingChangesNothing) {
  const RaggedGroups ragged = make_groups({1, 16, 70, 130}, 4, 40);
  const std::vector<at::Tensor> whole = gradients(*float32_, ragged.groups());
  for (const int64_t max_rows : {250, 90, 1}) {
    EXPECT_LT(relative_difference(gradients(*float32_, ragged.groups(), max_rows), whole),
              rounding_bound(ragged.num_rows()))
        << max_rows;
  }
}

TEST_P(PackedGradientsTest, ThreadsThatTakeWholeMicroBatchesChangeNoBit) {
  const RaggedGroups ragged = make_groups({1, 16, 70, 130}, 4, 40);
  ASSERT_TRUE(float32_->is_small());
  for (const bool recompute : {false, true}) {
    const std::vector<at::Tensor> alone = gradients(*float32_, ragged.groups(), 90, recompute);
    for (const int threads : {2, 3, 8}) {
      const ThreadCount count(threads);
      expect_equal(alone, gradients(*float32_, ragged.groups(), 90, recompute), threads);
    }
  }
}

// Libraries choose an order of sums by threads and rows.
TEST_P(PackedGradientsTest, ThreadsChangeNoBitOfALongMicroBatch) {
  const RaggedGroups ragged = make_groups({100, 90, 110}, 6, 100);
  const std::vector<at::Tensor> alone = gradients(*float32_, ragged.groups(), 4096);
  for (const int threads : {2, 8}) {
    const ThreadCount count(threads);
    expect_equal(alone, gradients(*float32_, ragged.groups(), 4096), threads);
  }
}

TEST_P(PackedGradientsTest, BalancingExpertsDependsOnNeitherCuttingNorRecomputing) {
  if (float32_->config().num_experts == 0) return;
  const RaggedGroups ragged = make_groups({1, 16, 70, 130}, 4, 40);
  Pass whole{.router_aux_loss_coef = 3.0};
  const std::vector<at::Tensor> expected = gradients(*float32_, ragged.groups(), whole);
  EXPECT_GT(relative_difference(expected, gradients(*float32_, ragged.groups())), 1e-2);
  // Even choices of two experts a row give 3.0 * 2; likelier experts are chosen more often.
  EXPECT_GT(whole.balance_loss, 6.0);
  for (const bool recompute : {false, true}) {
    for (const int64_t max_rows : {250, 90, 1}) {
      Pass cut{.max_rows = max_rows, .recompute = recompute, .router_aux_loss_coef = 3.0};
      const double bound = rounding_bound(ragged.num_rows());
      EXPECT_LT(relative_difference(gradients(*float32_, ragged.groups(), cut), expected), bound) << max_rows;
      EXPECT_NEAR(cut.balance_loss, whole.balance_loss, bound * whole.balance_loss) << max_rows;
    }
  }
}

TEST_P(PackedGradientsTest, RecomputingChangesNoBit) {
  const RaggedGroups ragged = make_groups({5, 70}, 3, 40);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const auto decoder = copy_of(*float32_, dtype);
    const std::vector<at::Tensor> kept = gradients(*decoder, ragged.groups());
    const std::vector<at::Tensor> recomputed = gradients(*decoder, ragged.groups(), 1 << 20, true);
    for (size_t i = 0; i < kept.size(); ++i)
      EXPECT_TRUE(at::equal(kept[i], recomputed[i])) << "parameter " << i;
  }
}

/// The entries of `gradient` to look at: the largest and some at random.
std::vector<int64_t> entries_to_check(const at::Tensor& gradient, CounterRng& random) {
  std::vector<int64_t> entries{gradient.abs().argmax().item<int64_t>()};
  for (int i = 0; i < 2; ++i) entries.push_back(static_cast<int64_t>(random.below(gradient.numel())));
  return entries;
}

TEST_P(PackedGradientsTest, Float64AgreesWithFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const RaggedGroups ragged = make_groups({3, 20}, 2, 8);
  const std::vector<at::Tensor> expected = gradients(*float64_, ragged.groups());
  CounterRng random(3);
  for (size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor values = float64_->parameters()[i].detach().view(-1), gradient = expected[i].view(-1);
    const double scale = gradient.abs().max().item<double>();
    for (const int64_t entry : entries_to_check(gradient, random)) {
      const double value = values[entry].item<double>();
      const auto loss_at = [&](double x) {
        values[entry].fill_(x);
        float64_->refresh();
        return loss_of(*float64_, ragged.groups());
      };
      const double numeric = (loss_at(value + kStep) - loss_at(value - kStep)) / (2.0 * kStep);
      loss_at(value);
      EXPECT_NEAR(gradient[entry].item<double>(), numeric, 1e-6 * scale + 1e-8)
          << "parameter " << i << "[" << entry << "]";
    }
  }
}

}  // namespace
}  // namespace cohort
