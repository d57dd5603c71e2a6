// Online softmax over tiles of keys. A query's arithmetic is the same whatever block it is computed in:
// scores are dot products folded in one fixed tree, and an output adds the keys in their order.
#include <cmath>
#include <limits>

#include "cohort/ops/attention_tile.h"

namespace cohort::COHORT_ARCH {
namespace {

template <typename T>
struct ForwardScratch {
  ForwardScratch(int64_t padded, int64_t repeat)
      : padded(padded),
        keys(padded),
        values(padded),
        queries(kQueryBlock * repeat * padded),
        outputs(queries.size()),
        added(4 * padded),
        maxima(kQueryBlock * repeat),
        sums(kQueryBlock * repeat) {}

  void begin_rows(int64_t count) {
    std::fill_n(outputs.begin(), count * padded, 0.0f);
    std::fill_n(maxima.begin(), count, -std::numeric_limits<float>::infinity());
    std::fill_n(sums.begin(), count, 0.0f);
  }

  void gather(KeyRows& walk, int64_t num_keys, const T* k, const T* v, const AttentionShape& shape,
              int64_t head) {
    tile.take(walk, num_keys);
    keys.gather(tile, k, shape, head, padded);
    values.gather(tile, v, shape, head, padded);
    if constexpr (std::is_same_v<T, float>) values.prefetch(tile, padded);
  }

  int64_t padded;
  Tile tile;
  HeadRows<Dotted<T>> keys;
  HeadRows<float> values;
  std::vector<Dotted<T>> queries;
  std::vector<float> outputs, added, maxima, sums;
};

/// Scores of one row over the first `scored` keys of a tile, folded into its running maximum and sum; leaves
/// the weights of the keys, 0 where the row does not see them, and returns what the output so far is
/// multiplied with.
template <typename U>
COHORT_INLINE float fold_scores(const HeadRows<U>& keys, const U* query, Visible visible, int64_t scored,
                                const AttentionShape& shape, int64_t padded, float& maximum, float& sum,
                                float* weights) {
  tile_dots(query, keys.rows, scored, padded, weights);
  if (shape.softcap > 0.0f) cap_scores(weights, scored, shape);
  const float scale = shape.softcap > 0.0f ? 1.0f : shape.scale;
  for (int64_t j = 0; j < visible.begin; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  for (int64_t j = visible.end; j < scored; ++j) weights[j] = -std::numeric_limits<float>::infinity();
  Vec largest = simd::broadcast(-std::numeric_limits<float>::infinity());
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec scaled = simd::load(weights + j) * scale;
    simd::store(weights + j, scaled);
    largest = simd::max(largest, scaled);
  }
  const float new_maximum = std::max(maximum, simd::max(largest));
  const float decay = simd::exp(simd::broadcast(maximum - new_maximum))[0];
  Vec total{};
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec p = simd::exp(simd::load(weights + j) - new_maximum);
    simd::store(weights + j, p);
    total += p;
  }
  maximum = new_maximum;
  sum = sum * decay + simd::sum(total);
  return decay;
}

/// kRows neighbouring rows over the tile in `s`; visible(q) of the last one is the longest.
template <int kRows, typename T, typename VisibleAt>
COHORT_INLINE void fold_tile(int64_t r, VisibleAt visible, const AttentionShape& shape,
                             ForwardScratch<T>& s) {
  float weights[kRows][kTile], decays[kRows];
  const Visible seen_by_last = visible(r + kRows - 1);
  for (int q = 0; q < kRows; ++q) {
    decays[q] = fold_scores(s.keys, s.queries.data() + (r + q) * s.padded, visible(r + q),
                            seen_by_last.registers_end(), shape, s.padded, s.maxima[r + q], s.sums[r + q],
                            weights[q]);
  }
  float* added = s.added.data();
  weighted_sums<kRows>(
      weights[0], kTile, 1, [&](int64_t j) __attribute__((always_inline)) { return s.values.rows[j]; },
      seen_by_last.end, s.padded, added, s.padded);
  for (int q = 0; q < kRows; ++q) {
    float* output = s.outputs.data() + (r + q) * s.padded;
    for (int64_t d = 0; d < s.padded; d += kLanes) {
      simd::store(output + d, simd::load(output + d) * decays[q] + simd::load(added + q * s.padded + d));
    }
  }
}

/// Rows [r, end) over the tile in `s`.
template <typename T, typename VisibleAt>
COHORT_INLINE void fold_tile_into_rows(int64_t r, int64_t end, VisibleAt visible, const AttentionShape& shape,
                                       ForwardScratch<T>& s) {
  for (; r + 4 <= end; r += 4) fold_tile<4>(r, visible, shape, s);
  for (; r + 2 <= end; r += 2) fold_tile<2>(r, visible, shape, s);
  for (; r < end; ++r) fold_tile<1>(r, visible, shape, s);
}

/// A block's rows, which start at `first_row` of `s`, over its tiles from key `from` on.
template <typename T>
COHORT_INLINE void fold_tiles(const AttentionPlan& plan, const Block& block, int64_t from, int64_t first_row,
                              const AttentionShape& shape, const T* k, const T* v, ForwardScratch<T>& s) {
  KeyRows walk(plan, block.sequence, from);
  for (int64_t begin = from; begin < block.num_keys; begin += kTile) {
    s.gather(walk, block.num_keys - begin, k, v, shape, block.head);
    fold_tile_into_rows(
        first_row + block.first_row_behind(begin), first_row + block.end_row(begin),
        [&](int64_t r) __attribute__((always_inline)) { return block.visible(r - first_row, begin); }, shape,
        s);
  }
}

/// The sum's end: rows of `s` from `first_row` on -> out.
template <typename T>
COHORT_INLINE void write_rows(const Block& block, int64_t first_row, const ForwardScratch<T>& s, T* out,
                              float* log_sum_exp) {
  for (int64_t i = 0; i < block.num_rows; ++i) {
    const int64_t r = first_row + i, target = block.source(i);
    const float inverse = 1.0f / s.sums[r];
    for (int64_t d = 0; d < block.dim; ++d) {
      out[target * block.dim + d] = static_cast<T>(s.outputs[r * block.padded + d] * inverse);
    }
    if (log_sum_exp != nullptr) log_sum_exp[target] = s.maxima[r] + std::log(s.sums[r]);
  }
}

/// Neighbouring sequences of one query each that have their first `shared` keys in common, whole tiles of
/// them (a prompt's), so that these are loaded once for all; or one block of queries of one sequence.
struct Team {
  int64_t first_sequence, num_sequences;
  int64_t first_query;
  int64_t shared;
  int64_t cost;
};

template <typename T>
COHORT_INLINE void forward_team(const AttentionPlan& plan, const AttentionShape& shape, const Team& team,
                                int64_t head, const T* q, const T* k, const T* v, T* out, float* log_sum_exp,
                                ForwardScratch<T>& s) {
  const auto block_of = [&](int64_t i) {
    return Block(plan, shape, {team.first_sequence + i, team.first_query, head});
  };
  const Block first = block_of(0);
  const int64_t num_rows = team.num_sequences * first.num_rows;
  for (int64_t i = 0; i < team.num_sequences; ++i) {
    block_of(i).load_rows(q, s.queries.data() + i * first.num_rows * s.padded);
  }
  s.begin_rows(num_rows);
  KeyRows walk(plan, first.sequence, 0);
  for (int64_t begin = 0; begin < team.shared; begin += kTile) {
    s.gather(walk, kTile, k, v, shape, head);
    fold_tile_into_rows(
        0, num_rows, [](int64_t) __attribute__((always_inline)) { return Visible{0, kTile}; }, shape, s);
  }
  for (int64_t i = 0; i < team.num_sequences; ++i) {
    const Block block = block_of(i);
    const int64_t first_row = i * first.num_rows;
    fold_tiles(plan, block, std::max(team.shared, block.first_tile()), first_row, shape, k, v, s);
    write_rows(block, first_row, s, out, log_sum_exp);
  }
}

/// How many keys at the start two sequences have in common, by whole ranges.
int64_t common_keys(const AttentionPlan& plan, const AttentionSequence& a, const AttentionSequence& b) {
  int64_t count = 0;
  const int64_t ranges = std::min(a.range_end - a.range_begin, b.range_end - b.range_begin);
  for (int64_t i = 0; i < ranges; ++i) {
    const RowRange &x = plan.ranges[a.range_begin + i], &y = plan.ranges[b.range_begin + i];
    if (x.begin != y.begin || x.end != y.end) break;
    count += x.end - x.begin;
  }
  return count;
}

/// The plan's blocks of queries, sequences of one query in teams of at most `max_team`. A row's result does
/// not depend on its team.
std::vector<Team> make_teams(const AttentionPlan& plan, const AttentionShape& shape, int64_t max_team) {
  std::vector<Team> teams;
  const auto whole_tiles = [](int64_t keys) { return keys / kTile * kTile; };
  const auto joins = [&](Team& team, const AttentionSequence& sequence) {
    const AttentionSequence& first = plan.sequences[team.first_sequence];
    if (first.num_queries != 1 || sequence.num_queries != 1 || team.num_sequences == max_team) return false;
    // Every member must see all of a shared tile.
    int64_t shared = whole_tiles(std::min(
        {common_keys(plan, first, sequence), first.first_position + 1, sequence.first_position + 1}));
    if (team.num_sequences > 1) shared = std::min(shared, team.shared);
    if (shared == 0) return false;
    team.shared = shared;
    ++team.num_sequences;
    team.cost += query_cost(sequence, 0, 1);
    return true;
  };
  for (int64_t i = 0; i < std::ssize(plan.sequences); ++i) {
    const AttentionSequence& sequence = plan.sequences[i];
    if (shape.window == 0 && !teams.empty() && joins(teams.back(), sequence)) continue;
    for (int64_t query = 0; query < sequence.num_queries; query += kQueryBlock) {
      teams.push_back(
          {i, 1, query, 0, query_cost(sequence, query, std::min(kQueryBlock, sequence.num_queries - query))});
    }
  }
  return teams;
}

}  // namespace

template <typename T>
void attention_kernel(const AttentionPlan& plan, const AttentionShape& shape, const T* q, const T* k,
                      const T* v, T* out, float* log_sum_exp) {
  // Large teams load fewer keys; but every thread must find work.
  const int64_t max_team = std::clamp<int64_t>(
      std::ssize(plan.sequences) * shape.num_kv_heads / (int64_t{4} * at::get_num_threads()), 1, kQueryBlock);
  const std::vector<Team> teams = make_teams(plan, shape, max_team);
  std::vector<int64_t> costs;
  for (const Team& team : teams) costs.insert(costs.end(), shape.num_kv_heads, team.cost);
  parallel_by_cost(costs, [&](int64_t begin, int64_t end) {
    ForwardScratch<T> scratch(simd::round_up(shape.head_dim), shape.num_heads / shape.num_kv_heads);
    for (int64_t i = begin; i < end; ++i) {
      forward_team(plan, shape, teams[i / shape.num_kv_heads], i % shape.num_kv_heads, q, k, v, out,
                   log_sum_exp, scratch);
    }
  });
}

template void attention_kernel<float>(const AttentionPlan&, const AttentionShape&, const float*, const float*,
                                      const float*, float*, float*);
template void attention_kernel<at::BFloat16>(const AttentionPlan&, const AttentionShape&, const at::BFloat16*,
                                             const at::BFloat16*, const at::BFloat16*, at::BFloat16*, float*);

}  // namespace cohort::COHORT_ARCH
