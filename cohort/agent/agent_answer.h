// What an agent may ask a policy in training, and the answer to it.
#pragma once

#include <vector>

#include "cohort/serve/api_server.h"

namespace cohort {

/// Throws ApiError for a request whose answer the run, which samples by `run`, cannot train on.
void check_trainable(const GenerationRequest& request, const SamplingParams& run);

/// The whole answer at once, as a stream if the agent wants one.
void send_answer(const ApiCall& call, const std::vector<Choice>& choices);

}  // namespace cohort
