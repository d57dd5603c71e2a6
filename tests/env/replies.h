// What an episode answers, waited for.
#pragma once

#include <future>

#include "cohort/env/environment.h"

namespace cohort {

/// The reply to a turn.
inline Reply reply_to(Episode& episode, const AssistantMessage& turn, bool is_last = false) {
  std::promise<Reply> reply;
  episode.respond(turn, is_last, [] {}, [&](Reply answer) { reply.set_value(std::move(answer)); });
  return reply.get_future().get();
}

/// The judgement of the ended episode.
inline RewardResult judgement_of(Episode& episode) {
  std::promise<RewardResult> result;
  episode.judge([] {}, [&](RewardResult judged) { result.set_value(std::move(judged)); });
  return result.get_future().get();
}

}  // namespace cohort
