// Gradients of attention: probabilities are made again from the log-sum-exp of the forward, tile by tile.
#include <memory>
#include <tuple>

#include "cohort/ops/attention_backward_rows.h"

namespace cohort::COHORT_ARCH {
namespace {

template <typename T>
struct BackwardScratch {
  explicit BackwardScratch(const AttentionShape& shape)
      : padded(padded_head_dim(shape.head_dim)),
        max_rows(kQueryBlock * shape.num_heads / shape.num_kv_heads),
        keys(padded),
        keys_to_add(padded),
        values(padded),
        queries(max_rows, padded),
        grad_out(max_rows, padded),
        probabilities(max_rows, kTile),
        grad_scores(max_rows, kTile),
        grad_q(max_rows * padded),
        deltas(max_rows) {}

  int64_t padded, max_rows;
  Tile tile;
  PackedTile<T> keys, keys_to_add, values;  // by dots, the second one by sums
  QueryRows<T> queries, grad_out;
  BothOrders<T> probabilities, grad_scores;  // [rows, kTile] of the tile
  std::vector<float> grad_q, deltas;
};

template <typename T>
COHORT_INLINE float dot(const T* a, const T* b, int64_t count) {
  Vec total{};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) total += simd::load(a + i) * simd::load(b + i);
  if (i < count) total += simd::load_part(a + i, count - i) * simd::load_part(b + i, count - i);
  return simd::sum(total);
}

/// Dot products of a row with the keys, and of its output's gradient with the values -> probabilities and
/// gradients of the scores.
template <typename T>
COHORT_INLINE void backward_scores(float* scores, float* grads, int64_t scored, float log_sum_exp,
                                   float delta, Visible visible, const AttentionShape& shape,
                                   InputOf<T>* probabilities, InputOf<T>* grad_scores) {
  const bool is_capped = shape.softcap > 0.0f;
  if (is_capped) cap_scores(scores, scored, shape);
  const float score_scale = is_capped ? 1.0f : shape.scale;
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec score = simd::load(scores + j) * score_scale;
    const Vec p = simd::exp(score - log_sum_exp);
    Vec slope = simd::broadcast(shape.scale);
    if (is_capped) slope *= 1.0f - (score / shape.softcap) * (score / shape.softcap);
    Products<T>::store(probabilities + j, p);
    Products<T>::store(grad_scores + j, p * (simd::load(grads + j) - delta) * slope);
  }
  const auto hide = [&](int64_t begin, int64_t end) {
    std::fill(probabilities + begin, probabilities + end, InputOf<T>(0.0f));
    std::fill(grad_scores + begin, grad_scores + end, InputOf<T>(0.0f));
  };
  hide(0, visible.begin);
  hide(visible.end, kTile);
}

/// Probabilities and score gradients of rows [first, end) over the tile in `s`, which starts at key `begin`.
template <typename T>
COHORT_INLINE void backward_rows(const Block& block, int64_t begin, int64_t first, int64_t end,
                                 const AttentionShape& shape, const float* log_sum_exp,
                                 BackwardScratch<T>& s) {
  const int64_t num_blocks = s.tile.num_blocks();
  by_rows<T>(first, end, [&](auto group, int64_t r) __attribute__((always_inline)) {
    constexpr int kRows = decltype(group)::kRows;
    alignas(64) float scores[kRows * kTile];
    alignas(64) float grads[kRows * kTile];
    dot_rows<T, kRows>(s.queries.row(r), s.padded, s.keys.blocks, num_blocks, scores);
    dot_rows<T, kRows>(s.grad_out.row(r), s.padded, s.values.blocks, num_blocks, grads);
    for (int64_t q = 0; q < group.size; ++q) {
      backward_scores<T>(scores + q * kTile, grads + q * kTile, num_blocks * kKeyBlock,
                         log_sum_exp[block.source(r + q)], s.deltas[r + q], block.visible(r + q, begin),
                         shape, s.probabilities.row(r + q), s.grad_scores.row(r + q));
    }
  });
}

template <typename T>
COHORT_INLINE void backward_block(const AttentionPlan& plan, const AttentionShape& shape,
                                  const WorkItem& item, const T* q, const T* k, const T* v, const T* out,
                                  const float* log_sum_exp, const T* grad_out, T* grad_q, float* grad_k,
                                  float* grad_v, BackwardScratch<T>& s) {
  constexpr int64_t kDepth = BothOrders<T>::kDepth;
  const Block block(plan, shape, item);
  const int64_t padded = block.padded;
  s.queries.load(block, q);
  s.grad_out.load(block, grad_out);
  std::fill_n(s.grad_q.begin(), block.num_rows * padded, 0.0f);
  for (int64_t r = 0; r < block.num_rows; ++r) {
    const int64_t source = block.source(r) * block.dim;
    s.deltas[r] = dot(grad_out + source, out + source, block.dim);
  }

  KeyRows walk(plan, block.sequence, block.first_tile());
  for (int64_t begin = block.first_tile(); begin < block.num_keys; begin += kTile) {
    s.tile.take(walk, block.num_keys - begin);
    const int64_t num_blocks = s.tile.num_blocks();
    const T* found[kTile];
    s.tile.find(k, shape, item.head, found);
    s.keys.pack_by_dots(found, num_blocks, block.dim);
    s.keys_to_add.pack_by_sums(found, num_blocks, block.dim);
    s.tile.find(v, shape, item.head, found);
    s.values.pack_by_dots(found, num_blocks, block.dim);
    const int64_t first = block.first_row_behind(begin), end = block.end_row(begin);
    backward_rows(block, begin, first, end, shape, log_sum_exp, s);
    by_rows<T>(first, end, [&](auto group, int64_t r) __attribute__((always_inline)) {
      add_weighted<T>(group, s.grad_scores.row(r), s.keys_to_add.blocks, s.tile.count, padded, nullptr,
                      s.grad_q.data() + r * padded);
    });
    // Keys add up whole depths of rows, of which those beside [first, end) do not see the tile.
    const int64_t from = first / kDepth * kDepth, to = BothOrders<T>::whole(end);
    for (const auto& [weights, rows, grad] :
         {std::tuple(&s.probabilities, &s.grad_out, grad_v), {&s.grad_scores, &s.queries, grad_k}}) {
      std::fill(weights->row(from), weights->row(first), InputOf<T>(0.0f));
      std::fill(weights->row(end), weights->row(to), InputOf<T>(0.0f));
      weights->pack(from, to);
      rows->add_to(block, s.tile, shape, *weights, from, to - from, grad);
    }
  }
  for (int64_t r = 0; r < block.num_rows; ++r)
    store_head(s.grad_q.data() + r * padded, 1.0f, block.dim, grad_q + block.source(r) * block.dim);
}

/// What one thread does at a stretch: blocks of queries of one group, with one key head. The gradients of
/// keys and values of part 0 go to the result, those of part p to a place of their own.
struct Unit {
  std::vector<WorkItem> items;
  int64_t cost = 0;
  int64_t part = 0;
};

/// A group's key rows belong to one unit a head, and are added to in the order of the sequences. Where that
/// makes few units, long ones are cut into parts: into as many on every machine, so that the bits are the
/// same.
std::vector<Unit> units_of(const AttentionPlan& plan, int64_t num_kv_heads) {
  constexpr int64_t kUnits = 16, kMostParts = 8, kLeastCost = 1 << 14;
  const auto num_groups = static_cast<int64_t>(plan.group_begin.size());
  const int64_t most_parts =
      std::clamp<int64_t>(kUnits / std::max<int64_t>(1, num_groups * num_kv_heads), 1, kMostParts);
  std::vector<Unit> units;
  for (int64_t group = 0; group < num_groups; ++group) {
    std::vector<WorkItem> items;
    std::vector<int64_t> ends;  // of the items: their cost with that of all before them
    const int64_t end =
        group + 1 < num_groups ? plan.group_begin[group + 1] : static_cast<int64_t>(plan.sequences.size());
    for (int64_t i = plan.group_begin[group]; i < end; ++i) {
      const AttentionSequence& sequence = plan.sequences[i];
      for (int64_t first = 0; first < sequence.num_queries; first += kQueryBlock) {
        const int64_t count = std::min(kQueryBlock, sequence.num_queries - first);
        items.push_back({i, first, 0});
        ends.push_back((ends.empty() ? 0 : ends.back()) + query_cost(sequence, first, count));
      }
    }
    if (items.empty()) continue;
    const int64_t num_parts = std::clamp<int64_t>(ends.back() / kLeastCost, 1, most_parts);
    for (int64_t head = 0; head < num_kv_heads; ++head) {
      size_t taken = 0;
      for (int64_t part = 0; part < num_parts; ++part) {
        Unit unit;
        unit.part = part;
        for (; taken < items.size() &&
               (part + 1 == num_parts || ends[taken] * num_parts <= ends.back() * (part + 1));
             ++taken) {
          unit.items.push_back({items[taken].sequence, items[taken].first_query, head});
          unit.cost += ends[taken] - (taken == 0 ? 0 : ends[taken - 1]);
        }
        units.push_back(std::move(unit));
      }
    }
  }
  return units;
}

}  // namespace

template <typename T>
void attention_backward_kernel(const AttentionPlan& plan, const AttentionShape& shape, const T* q, const T* k,
                               const T* v, const T* out, const float* log_sum_exp, const T* grad_out,
                               T* grad_q, float* grad_k, float* grad_v) {
  const std::vector<Unit> units = units_of(plan, shape.num_kv_heads);
  std::vector<int64_t> costs;
  int64_t last_part = 0, num_rows = 0;
  for (const Unit& unit : units) {
    costs.push_back(unit.cost);
    last_part = std::max(last_part, unit.part);
  }
  for (const RowRange& range : plan.ranges) num_rows = std::max(num_rows, range.end);
  const int64_t size = num_rows * shape.num_kv_heads * shape.head_dim;
  const std::unique_ptr<float[]> parts(new float[2 * last_part * size]);
  at::parallel_for(0, 2 * last_part * size, 1 << 14, [&](int64_t begin, int64_t end) {
    std::fill(parts.get() + begin, parts.get() + end, 0.0f);
  });
  parallel_by_cost(costs, [&](int64_t begin, int64_t end) {
    [[maybe_unused]] const typename Products<T>::Unit matrix_unit;
    BackwardScratch<T> scratch(shape);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = units[i].part;
      float* const own_k = part == 0 ? grad_k : parts.get() + 2 * (part - 1) * size;
      float* const own_v = part == 0 ? grad_v : own_k + size;
      for (const WorkItem& item : units[i].items) {
        backward_block(plan, shape, item, q, k, v, out, log_sum_exp, grad_out, grad_q, own_k, own_v, scratch);
      }
    }
  });
  if (last_part == 0) return;
  at::parallel_for(0, size, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t part = 0; part < last_part; ++part) {
      const float* own = parts.get() + 2 * part * size;
      for (int64_t i = begin; i < end; ++i) {
        grad_k[i] += own[i];
        grad_v[i] += own[size + i];
      }
    }
  });
}

#define COHORT_INSTANTIATE(T)                                                                          \
  template void attention_backward_kernel<T>(const AttentionPlan&, const AttentionShape&, const T*,    \
                                             const T*, const T*, const T*, const float*, const T*, T*, \
                                             float*, float*);
COHORT_INSTANTIATE(float)
COHORT_INSTANTIATE(at::BFloat16)
#undef COHORT_INSTANTIATE

}  // namespace cohort::COHORT_ARCH
