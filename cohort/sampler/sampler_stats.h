#pragma once

#include <cstdint>

namespace cohort {

/// Counts of an engine's work.
struct SamplerStats {
  int64_t prompt_rows = 0;      ///< forwarded, prompts prefilled again included
  int64_t completion_rows = 0;  ///< forwarded, tokens of preempted completions included
  int64_t num_passes = 0;
  int64_t num_preemptions = 0;
  double prefill_s = 0.0;  ///< seconds of the passes with prompt rows, completions' rows beside them included
  double decode_s = 0.0;   ///< seconds of the passes without
};

}  // namespace cohort
