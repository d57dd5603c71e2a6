// One forward pass of the engine: the layout of its rows, and the tokens that are drawn from their logits.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <vector>

#include "cohort/models/decoder.h"
#include "cohort/sampler/growing_request.h"
#include "cohort/sampler/sampling.h"
#include "cohort/sampler/scheduler.h"

namespace cohort {

/// A result row of a pass whose logits, at this temperature, give the next token of these sequences.
struct Draw {
  int64_t row;
  double temperature;
  std::vector<int64_t> sequences;
  std::vector<SampledToken> tokens;  ///< of each of them, once drawn
};

class SamplingPass {
 public:
  /// `growing` holds a request for each sequence of `scheduler`. `record` takes the activations of requests
  /// that have places in it; null if none has. All of these must outlive this.
  SamplingPass(const Decoder& decoder, const Scheduler& scheduler, const std::vector<GrowingRequest>& growing,
               KvCache& cache, ActivationRecord* record)
      : decoder_(decoder), scheduler_(scheduler), growing_(growing), cache_(cache), record_(record) {}

  /// Forwards the rows and draws the next tokens of the sequences whose last row is among them.
  std::vector<Draw> run(const std::vector<ScheduledRows>& rows) const;

 private:
  /// The part of a pass that one thread forwards, or all threads together if it is the only part.
  struct Lane {
    std::span<const ScheduledRows> rows;
    std::vector<Draw> draws;
  };

  std::vector<Lane> cut_into_lanes(const std::vector<ScheduledRows>& rows) const;
  void forward(Lane& lane, int64_t num_lanes) const;
  DecoderInput lay_out(Lane& lane) const;
  std::vector<int64_t> sequences_to_draw(const ScheduledRows& rows) const;
  void add_draws(const std::vector<int64_t>& sequences, int64_t row, std::vector<Draw>& draws) const;
  void draw_tokens(const at::Tensor& hidden, std::span<Draw> draws) const;
  SampledToken draw_token(const GrowingRequest& growing, const float* logits) const;

  const Decoder& decoder_;
  const Scheduler& scheduler_;
  const std::vector<GrowingRequest>& growing_;
  KvCache& cache_;
  ActivationRecord* record_;
};

}  // namespace cohort
