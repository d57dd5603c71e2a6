#include "cohort/agent/branch.h"

#include <algorithm>

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

Completion with_opening(std::span<const int32_t> opening, const Completion& completion) {
  if (opening.empty()) return completion;
  Completion whole = completion;
  whole.token_ids.assign(opening.begin(), opening.end());
  whole.token_ids.insert(whole.token_ids.end(), completion.token_ids.begin(), completion.token_ids.end());
  const auto count = std::ssize(opening);
  whole.spans = {{.origin = TokenOrigin::kInjected,
                  .turn = 0,
                  .policy_version = completion.policy_version(),
                  .first = 0,
                  .count = count}};
  for (TokenSpan span : completion.spans) {
    span.first += count;
    ++span.turn;
    whole.spans.push_back(span);
  }
  return whole;
}

}  // namespace cohort
