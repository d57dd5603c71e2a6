#include "cohort/agent/branch.h"

#include <algorithm>
#include <set>

#include "libs/common/ascii.h"

namespace cohort {
namespace {

/// The calls of a message without their ids and forms.
Json calls_of(const Json& message) {
  Json calls = Json::array();
  const auto found = message.find("tool_calls");
  if (found == message.end()) return calls;
  for (const Json& call : *found) calls.push_back(call.at("function"));
  return calls;
}

bool is_same(const Json& known, const Json& sent) {
  if (known.at("role") != sent.at("role")) return false;
  const std::string content = known.value("content", std::string()),
                    other = sent.value("content", std::string());
  if (known.at("role") != "assistant") return content == other;
  return trim(content) == trim(other) && calls_of(known) == calls_of(sent);
}

/// How many first messages or tokens of the request a turn of a branch has; 0 if others follow none of it.
size_t match_of(const Branch& branch, const BranchTurn& turn, const GenerationRequest& request) {
  if (request.is_chat != !branch.messages.empty()) return 0;
  if (!request.is_chat) {
    std::vector<int32_t> known = branch.prompt_ids;
    known.insert(known.end(), branch.completion.token_ids.begin(),
                 branch.completion.token_ids.begin() + turn.num_tokens);
    const std::vector<int32_t>& sent = request.prompts.front();
    const bool continues = sent.size() > known.size() && std::equal(known.begin(), known.end(), sent.begin());
    return continues ? known.size() : 0;
  }
  if (request.tools != branch.tools || request.messages.size() <= turn.num_messages) return 0;
  for (size_t i = 0; i < turn.num_messages; ++i) {
    if (!is_same(branch.messages[i], request.messages[i])) return 0;
  }
  return turn.num_messages;
}

}  // namespace

std::optional<Continuation> find_continuation(const std::vector<Branch>& branches,
                                              const GenerationRequest& request) {
  std::optional<Continuation> best;
  size_t most = 0;
  for (size_t b = 0; b < branches.size(); ++b) {
    for (size_t t = 0; t < branches[b].turns.size(); ++t) {
      const size_t match = match_of(branches[b], branches[b].turns[t], request);
      if (match <= most) continue;
      most = match;
      best = Continuation{b, t};
    }
  }
  return best;
}

std::vector<TrainedBranch> trained_branches(const std::vector<Branch>& branches) {
  std::vector<const Branch*> order;
  order.reserve(branches.size());
  for (const Branch& branch : branches) order.push_back(&branch);
  const auto last_turn = [](const Branch* branch) {
    return branch->turns.empty() ? 0 : branch->turns.back().number;
  };
  const auto last = std::ranges::max_element(order, {}, last_turn);
  if (last != order.end()) std::rotate(order.begin(), last, last + 1);
  std::vector<TrainedBranch> trained;
  std::set<int64_t> numbers;
  for (const Branch* branch : order) {
    const auto own = std::ranges::find_if(
        branch->turns, [&](const BranchTurn& turn) { return !numbers.contains(turn.number); });
    if (own == branch->turns.end()) continue;
    trained.push_back({branch, static_cast<size_t>(own - branch->turns.begin())});
    for (const BranchTurn& turn : branch->turns) numbers.insert(turn.number);
  }
  return trained;
}

Completion with_opening(std::span<const int32_t> opening, const Completion& completion,
                        int64_t num_injected) {
  const auto count = std::ssize(opening);
  if (count + num_injected == 0) return completion;
  Completion whole = completion;
  whole.token_ids.insert(whole.token_ids.begin(), opening.begin(), opening.end());
  whole.spans = {{.origin = TokenOrigin::kInjected,
                  .turn = 0,
                  .policy_version = completion.policy_version(),
                  .first = 0,
                  .count = count + num_injected}};
  int32_t num_turns = -1;  // that are injected whole
  for (TokenSpan span : completion.spans) {
    if (span.first < num_injected) {
      num_turns = span.turn;
      continue;
    }
    span.first += count;
    span.turn -= num_turns;
    whole.spans.push_back(span);
  }
  const int64_t num_left_out = completion.num_sampled_before(num_injected);
  const auto leave_out = [&](auto& column) {
    if (!column.empty()) column.erase(column.begin(), column.begin() + num_left_out);
  };
  leave_out(whole.sampler_logprobs);
  leave_out(whole.kept_ids);
  return whole;
}

Sample to_sequence(const TrainedBranch& trained, std::span<const int32_t> prompt_ids) {
  const Branch& branch = *trained.branch;
  const int64_t num_shared = trained.num_shared == 0 ? 0 : branch.turns[trained.num_shared - 1].num_tokens;
  const auto parted = std::ranges::mismatch(prompt_ids, branch.prompt_ids);
  Sample sequence;
  if (parted.in1 == prompt_ids.end()) {
    sequence.completion = with_opening({parted.in2, branch.prompt_ids.end()}, branch.completion, num_shared);
  } else {
    sequence.prompt_ids = branch.prompt_ids;
    sequence.completion = with_opening({}, branch.completion, num_shared);
  }
  EpisodeRecord record;
  for (size_t i = branch.num_prompt_messages; i < branch.messages.size(); ++i)
    record.messages.push_back(branch.messages[i]);
  sequence.completion.episode = std::move(record);
  return sequence;
}

}  // namespace cohort
