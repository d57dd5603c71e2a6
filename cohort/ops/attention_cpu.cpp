// Online softmax over tiles of keys. A query's arithmetic is the same whatever block it is computed in: a
// score adds the elements of a head in their order, an output the keys in theirs.
#include <cmath>
#include <limits>

#include "cohort/ops/attention_pages.h"

namespace cohort::COHORT_ARCH {
namespace {

template <typename T>
struct ForwardScratch {
  // The last group of rows reads as many as it may hold.
  static constexpr int64_t kRowsBehind = Products<T>::kRowsAtOnce;

  explicit ForwardScratch(const AttentionShape& shape)
      : padded(padded_head_dim(shape.head_dim)),
        keys(shape.is_paged ? 0 : padded),
        values(shape.is_paged ? 0 : padded),
        queries((kQueryBlock * shape.num_heads / shape.num_kv_heads + kRowsBehind) * padded),
        outputs(queries.size()),
        maxima(queries.size() / padded),
        sums(maxima.size()) {}

  void begin_rows(int64_t num_rows) {
    std::fill_n(outputs.begin(), num_rows * padded, 0.0f);
    std::fill_n(maxima.begin(), num_rows, -std::numeric_limits<float>::infinity());
    std::fill_n(sums.begin(), num_rows, 0.0f);
  }

  int64_t padded;
  PackedTile<T> keys, values;
  const T *key_blocks[kTileBlocks], *value_blocks[kTileBlocks];  // of the tile
  int64_t count = 0;                                             // its keys
  std::vector<InputOf<T>> queries;
  std::vector<float> outputs, maxima, sums;
};

/// The keys and values of one head and sequence, tile by tile.
template <typename T>
class TileWalk {
 public:
  TileWalk(const AttentionPlan& plan, const AttentionShape& shape, const AttentionSequence& sequence,
           int64_t head, int64_t first, const T* k, const T* v, PagesAhead<T>& ahead)
      : shape_(shape),
        head_(head),
        k_(k),
        v_(v),
        ahead_(ahead),
        rows_(plan, sequence, shape.is_paged ? 0 : first),
        page_(plan.ranges.data() + sequence.range_begin + (shape.is_paged ? first / kKeyBlock : 0)) {}

  /// The next tile, of at most `num_keys` keys.
  void next(int64_t num_keys, ForwardScratch<T>& s) {
    s.count = std::min(kTile, num_keys);
    const int64_t num_blocks = (s.count + kKeyBlock - 1) / kKeyBlock;
    if (shape_.is_paged) {
      for (int64_t b = 0; b < num_blocks; ++b, ++page_) {
        const int64_t place = place_of(shape_, *page_, head_);
        s.key_blocks[b] = k_ + place;
        s.value_blocks[b] = v_ + place;
      }
      ahead_.begin_reading(num_blocks);
      return;
    }
    const T* found[kTile];
    Tile tile;
    tile.take(rows_, num_keys);
    tile.find(k_, shape_, head_, found);
    s.keys.pack_by_dots(found, num_blocks, shape_.head_dim);
    tile.find(v_, shape_, head_, found);
    s.values.pack_by_sums(found, num_blocks, shape_.head_dim);
    std::copy_n(s.keys.blocks, num_blocks, s.key_blocks);
    std::copy_n(s.values.blocks, num_blocks, s.value_blocks);
  }

 private:
  const AttentionShape& shape_;
  int64_t head_;
  const T *k_, *v_;
  PagesAhead<T>& ahead_;
  KeyRows rows_;
  const RowRange* page_;
};

/// Dot products of one row with the first `scored` keys of a tile, folded into its running maximum and sum ->
/// weights of the keys, 0 where the row does not see them; returns what the output so far is multiplied with.
template <typename T>
COHORT_INLINE float fold_scores(float* scores, int64_t scored, Visible visible, const AttentionShape& shape,
                                float& maximum, float& sum, InputOf<T>* weights) {
  if (shape.softcap > 0.0f) cap_scores(scores, scored, shape);
  const float scale = shape.softcap > 0.0f ? 1.0f : shape.scale;
  for (int64_t j = 0; j < visible.begin; ++j) scores[j] = -std::numeric_limits<float>::infinity();
  for (int64_t j = visible.end; j < scored; ++j) scores[j] = -std::numeric_limits<float>::infinity();
  Vec largest = simd::broadcast(-std::numeric_limits<float>::infinity());
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec scaled = simd::load(scores + j) * scale;
    simd::store(scores + j, scaled);
    largest = simd::max(largest, scaled);
  }
  const float new_maximum = std::max(maximum, simd::max(largest));
  const float decay = simd::exp(simd::broadcast(maximum - new_maximum))[0];
  Vec total{};
  for (int64_t j = 0; j < scored; j += kLanes) {
    const Vec p = simd::exp(simd::load(scores + j) - new_maximum);
    Products<T>::store(weights + j, p);
    total += p;
  }
  maximum = new_maximum;
  sum = sum * decay + simd::sum(total);
  return decay;
}

/// Rows [first, end) over the tile in `s`; visible(row, count) says which of its keys a row sees.
template <typename T, typename VisibleAt>
COHORT_INLINE void fold_tile(int64_t first, int64_t end, VisibleAt visible, const AttentionShape& shape,
                             PagesAhead<T>& ahead, ForwardScratch<T>& s) {
  const int64_t num_blocks = (s.count + kKeyBlock - 1) / kKeyBlock;
  by_rows<T>(first, end, [&](auto group, int64_t r) __attribute__((always_inline)) {
    constexpr int kRows = decltype(group)::kRows;
    alignas(64) float scores[kRows * kTile];
    alignas(64) InputOf<T> weights[kRows * kTile];
    float decays[kRows];
    ahead.fetch_part();
    dot_rows<T, kRows>(s.queries.data() + r * s.padded, s.padded, s.key_blocks, num_blocks, scores);
    ahead.fetch_part();
    for (int64_t q = 0; q < group.size; ++q) {
      ahead.fetch_part();
      decays[q] = fold_scores<T>(scores + q * kTile, num_blocks * kKeyBlock, visible(r + q), shape,
                                 s.maxima[r + q], s.sums[r + q], weights + q * kTile);
    }
    ahead.fetch_part();
    add_weighted<T>(group, weights, s.value_blocks, s.count, s.padded, decays,
                    s.outputs.data() + r * s.padded);
  });
}

/// A block's rows, which start at `first_row` of `s`, over its tiles from key `from` on.
template <typename T>
COHORT_INLINE void fold_tiles(const AttentionPlan& plan, const Block& block, int64_t from, int64_t first_row,
                              const AttentionShape& shape, const T* k, const T* v, PagesAhead<T>& ahead,
                              ForwardScratch<T>& s) {
  TileWalk<T> walk(plan, shape, block.sequence, block.head, from, k, v, ahead);
  for (int64_t begin = from; begin < block.num_keys; begin += kTile) {
    walk.next(block.num_keys - begin, s);
    fold_tile(
        first_row + block.first_row_behind(begin), first_row + block.end_row(begin),
        [&](int64_t r) __attribute__((always_inline)) { return block.visible(r - first_row, begin); }, shape,
        ahead, s);
  }
}

/// The sum's end: rows of `s` from `first_row` on -> out.
template <typename T>
COHORT_INLINE void write_rows(const Block& block, int64_t first_row, const ForwardScratch<T>& s, T* out,
                              float* log_sum_exp) {
  for (int64_t i = 0; i < block.num_rows; ++i) {
    const int64_t r = first_row + i, target = block.source(i);
    store_head(s.outputs.data() + r * block.padded, 1.0f / s.sums[r], block.dim, out + target * block.dim);
    log_sum_exp[target] = s.maxima[r] + std::log(s.sums[r]);
  }
}

template <typename T>
COHORT_INLINE void forward_team(const AttentionPlan& plan, const AttentionShape& shape, const Team& team,
                                int64_t head, const T* q, const T* k, const T* v, T* out, float* log_sum_exp,
                                PagesAhead<T>& ahead, ForwardScratch<T>& s) {
  const auto block_of = [&](int64_t i) {
    return Block(plan, shape, {team.first_sequence + i, team.first_query, head});
  };
  const Block first = block_of(0);
  const int64_t num_rows = team.num_sequences * first.num_rows;
  for (int64_t i = 0; i < team.num_sequences; ++i) {
    block_of(i).load_rows(q, s.queries.data() + i * first.num_rows * s.padded);
  }
  s.begin_rows(num_rows);
  TileWalk<T> walk(plan, shape, first.sequence, head, 0, k, v, ahead);
  for (int64_t begin = 0; begin < team.shared; begin += kTile) {
    walk.next(kTile, s);
    fold_tile(
        0, num_rows, [](int64_t) __attribute__((always_inline)) { return Visible{0, kTile}; }, shape, ahead,
        s);
  }
  for (int64_t i = 0; i < team.num_sequences; ++i) {
    const Block block = block_of(i);
    const int64_t first_row = i * first.num_rows;
    fold_tiles(plan, block, std::max(team.shared, block.first_tile()), first_row, shape, k, v, ahead, s);
    write_rows(block, first_row, s, out, log_sum_exp);
  }
}

/// How many keys at the start two sequences have in common, by whole ranges.
int64_t common_keys(const AttentionPlan& plan, const AttentionSequence& a, const AttentionSequence& b) {
  int64_t count = 0;
  const int64_t ranges = std::min(a.range_end - a.range_begin, b.range_end - b.range_begin);
  for (int64_t i = 0; i < ranges; ++i) {
    const RowRange &x = plan.ranges[a.range_begin + i], &y = plan.ranges[b.range_begin + i];
    if (x != y) break;
    count += x.size();
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
    [[maybe_unused]] const typename Products<T>::Unit unit;
    ForwardScratch<T> scratch(shape);
    PagesAhead<T> ahead(plan, shape, teams, begin, end, k, v);
    for (int64_t i = begin; i < end; ++i) {
      forward_team(plan, shape, teams[i / shape.num_kv_heads], i % shape.num_kv_heads, q, k, v, out,
                   log_sum_exp, ahead, scratch);
    }
  });
}

namespace {

/// Values are multiplied in steps of kKeyStep rows, of which those that are not there yet must be finite:
/// whoever writes a step's first row clears the rest. The rows to clear behind row rows[i] of a page.
template <typename T>
int64_t rows_to_clear(const int64_t* rows, int64_t i, int64_t num_rows) {
  constexpr int64_t kStep = Products<T>::kKeyStep;
  const int64_t place = rows[i] % kStep, first = i - place;
  const bool is_last = i + 1 == num_rows || rows[i + 1] != rows[i] + 1;
  const bool has_first = first >= 0 && rows[first] == rows[i] - place;
  return is_last && has_first ? kStep - 1 - place : 0;
}

}  // namespace

template <typename T>
void write_pages(const AttentionShape& shape, const int64_t* rows, int64_t num_rows, const T* k, const T* v,
                 T* key_pages, T* value_pages) {
  constexpr int64_t kStep = Products<T>::kStep;
  const int64_t heads = shape.num_kv_heads, dim = shape.head_dim, padded = padded_head_dim(dim);
  at::parallel_for(0, num_rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t page = rows[i] / kKeyBlock, row = rows[i] % kKeyBlock;
      const int64_t end_row = row + 1 + rows_to_clear<T>(rows, i, num_rows);
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t place = (page * heads + head) * kKeyBlock * padded;
        const T* key = k + (i * heads + head) * dim;
        const T* value = v + (i * heads + head) * dim;
        T* by_dots = key_pages + place + row * kStep;
        T* by_sums = value_pages + place;
        for (int64_t r = row; r < end_row; ++r) {
          T* to = by_sums + r / kStep * padded * kStep + r % kStep;
          for (int64_t d = 0; d < padded; ++d) to[d * kStep] = r == row && d < dim ? value[d] : T(0.0f);
        }
        for (int64_t d = 0; d < padded; ++d)
          by_dots[d / kStep * kKeyBlock * kStep + d % kStep] = d < dim ? key[d] : T(0.0f);
      }
    }
  });
}

#define COHORT_INSTANTIATE(T)                                                                        \
  template void attention_kernel<T>(const AttentionPlan&, const AttentionShape&, const T*, const T*, \
                                    const T*, T*, float*);
COHORT_INSTANTIATE(float)
COHORT_INSTANTIATE(at::BFloat16)
#undef COHORT_INSTANTIATE
template void write_pages(const AttentionShape&, const int64_t*, int64_t, const float*, const float*, float*,
                          float*);
template void write_pages(const AttentionShape&, const int64_t*, int64_t, const at::BFloat16*,
                          const at::BFloat16*, at::BFloat16*, at::BFloat16*);

}  // namespace cohort::COHORT_ARCH
