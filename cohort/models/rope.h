// Frequencies of rotary positions, arXiv:2104.09864, in the scalings that published models use.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

/// One entry of "rope_parameters": the key names of config.json, 0 where a key was absent.
struct RopeConfig {
  std::string rope_type = "default";  ///< default, linear, dynamic, yarn, longrope or llama3
  double rope_theta = 10000.0;
  double factor = 0.0;
  int64_t original_max_position_embeddings = 0;
  double low_freq_factor = 0.0, high_freq_factor = 0.0;  ///< llama3
  double attention_factor = 0.0;                         ///< yarn, longrope
  double beta_fast = 32.0, beta_slow = 1.0;              ///< yarn
  double mscale = 0.0, mscale_all_dim = 0.0;             ///< yarn
  bool truncate = true;                                  ///< yarn
  std::vector<double> short_factor, long_factor;         ///< longrope

  bool operator==(const RopeConfig&) const = default;
};

struct RopeFrequencies {
  at::Tensor frequencies;  ///< [head_dim / 2] float32, radians a position
  double scale = 1.0;      ///< what cosine and sine are multiplied with
};

/// The frequencies of a run whose sequences have up to `planned_length` tokens, which dynamic and longrope
/// depend on. linear: positions / factor; dynamic: NTK-aware base; yarn: arXiv:2309.00071; longrope:
/// arXiv:2402.13753; llama3: arXiv:2407.21783. As transformers 5 computes them for a sequence of that length.
RopeFrequencies rope_frequencies(const RopeConfig& rope, int64_t head_dim, int64_t max_position_embeddings,
                                 int64_t planned_length);

/// Whether the frequencies depend on the planned length.
bool depends_on_length(const RopeConfig& rope);

/// The positions that a scaling allows: factor * original_max_position_embeddings where that is more than
/// `max_position_embeddings`; dynamic: factor * max_position_embeddings.
int64_t allowed_positions(const RopeConfig& rope, int64_t max_position_embeddings);

}  // namespace cohort
