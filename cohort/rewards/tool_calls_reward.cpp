// Tool calls: the parts of PROVE's reward (arXiv:2606.03892) for the calls of an episode. The paper's
// abstract names the parts; their formulas and weights here are this project's.
#include <algorithm>
#include <cmath>
#include <map>

#include "cohort/rewards/make_reward.h"
#include "cohort/rewards/tool_trace.h"

namespace cohort {
namespace {

struct ToolCallsKeys {
  double validity = 0.3;
  double coverage = 0.4;
  double tool_name = 0.1;
  double argument_value = 0.2;
  double efficiency_penalty = 0.2;
  double call_budget = 1.25;
  std::string tool_calls_column;

  void describe(FieldVisitor& f) {
    f("validity", validity, "Weight of how far the calls came: parsed 1/3, valid 2/3, executed 1.",
      at_least(0.0));
    f("coverage", coverage, "Weight of the share of the row's calls that were made after those they need.",
      at_least(0.0));
    f("tool_name", tool_name, "Weight of the F1 score of the names of tools.", at_least(0.0));
    f("argument_value", argument_value, "Weight of the share of the row's argument values that are equal.",
      at_least(0.0));
    f("efficiency_penalty", efficiency_penalty, "Weight of the share by which the calls exceed the budget.",
      at_least(0.0));
    f("call_budget", call_budget, "Calls without a penalty, per call of the row; rounded up.", at_least(1.0));
    f("tool_calls_column", tool_calls_column, "The data's column with the calls; `tool_calls` when empty.");
  }
};

struct Parts {
  double validity = 0.0, coverage = 0.0, tool_name = 0.0, argument_value = 0.0, excess = 0.0;
};

double validity_of(const std::vector<TracedCall>& calls) {
  constexpr double kStages = 3.0;
  double sum = 0.0;
  for (const TracedCall& call : calls) sum += static_cast<double>(call.stage) / kStages;
  return calls.empty() ? 0.0 : sum / static_cast<double>(calls.size());
}

double name_f1(const std::vector<TracedCall>& calls, const std::vector<GoldCall>& gold) {
  std::map<std::string, int64_t> wanted;
  for (const GoldCall& call : gold) ++wanted[call.name];
  int64_t common = 0;
  for (const TracedCall& call : calls) common += wanted[call.name]-- > 0;
  return 2.0 * static_cast<double>(common) / static_cast<double>(calls.size() + gold.size());
}

int64_t num_equal(const Json& arguments, const Json& gold) {
  int64_t count = 0;
  for (const auto& [name, value] : gold.items())
    count += arguments.is_object() && arguments.contains(name) && arguments.at(name) == value;
  return count;
}

/// Each executed call in order takes a call of the row: of the same name, not taken, all that it depends on
/// taken before; of several the one with most equal arguments, and of these the first. Returns per call of
/// the row how many of its arguments are equal; -1: not taken.
std::vector<int64_t> matches(const std::vector<TracedCall>& calls, const std::vector<GoldCall>& gold) {
  std::vector<int64_t> equal(gold.size(), -1);
  for (const TracedCall& call : calls) {
    if (call.stage != CallStage::kExecuted) continue;
    size_t best = gold.size();
    for (size_t g = 0; g < gold.size(); ++g) {
      const bool is_open = equal[g] < 0 && gold[g].name == call.name &&
                           std::ranges::all_of(gold[g].depends_on, [&](size_t d) { return equal[d] >= 0; });
      if (!is_open) continue;
      if (best == gold.size() ||
          num_equal(call.arguments, gold[g].arguments) > num_equal(call.arguments, gold[best].arguments))
        best = g;
    }
    if (best < gold.size()) equal[best] = num_equal(call.arguments, gold[best].arguments);
  }
  return equal;
}

Parts parts_of(const std::vector<TracedCall>& calls, const std::vector<GoldCall>& gold, double call_budget) {
  Parts parts;
  parts.validity = validity_of(calls);
  parts.tool_name = name_f1(calls, gold);
  int64_t num_taken = 0, num_arguments = 0, num_right = 0;
  const std::vector<int64_t> equal = matches(calls, gold);
  for (size_t g = 0; g < gold.size(); ++g) {
    num_taken += equal[g] >= 0;
    num_arguments += std::ssize(gold[g].arguments);
    num_right += std::max<int64_t>(equal[g], 0);
  }
  const auto num_gold = static_cast<double>(gold.size());
  parts.coverage = static_cast<double>(num_taken) / num_gold;
  parts.argument_value = num_arguments == 0
                             ? parts.coverage
                             : static_cast<double>(num_right) / static_cast<double>(num_arguments);
  const double budget = std::ceil(call_budget * num_gold);
  parts.excess = std::max(0.0, static_cast<double>(calls.size()) - budget) / budget;
  return parts;
}

class ToolCallsReward : public Reward {
 public:
  explicit ToolCallsReward(const ToolCallsKeys& keys)
      : keys_(keys), column_(keys.tool_calls_column.empty() ? "tool_calls" : keys.tool_calls_column) {}

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    if (!completion.episode)
      return {0.0, RewardStatus::kError, "the completion had no environment and no tools"};
    const auto column = prompt.fields.find(column_);
    const auto gold = column == prompt.fields.end() ? std::nullopt : read_gold_calls(*column);
    if (!gold) {
      return {0.0, RewardStatus::kUnparsed,
              str(prompt.id, ": column \"", column_,
                  "\" must be a list of calls {\"name\", \"arguments\", \"depends_on\"}")};
    }
    const std::vector<TracedCall> calls = traced_calls(*completion.episode);
    if (gold->empty()) return {calls.empty() ? 1.0 : 0.0, RewardStatus::kOk, "the row wants no call"};
    const Parts parts = parts_of(calls, *gold, keys_.call_budget);
    const double score = keys_.validity * parts.validity + keys_.coverage * parts.coverage +
                         keys_.tool_name * parts.tool_name + keys_.argument_value * parts.argument_value -
                         keys_.efficiency_penalty * parts.excess;
    return {score, RewardStatus::kOk,
            to_json_text({{"validity", parts.validity},
                          {"coverage", parts.coverage},
                          {"tool_name", parts.tool_name},
                          {"argument_value", parts.argument_value},
                          {"excess", parts.excess}})};
  }

 private:
  ToolCallsKeys keys_;
  std::string column_;
};

}  // namespace

RewardMaker tool_calls_reward() {
  return reward_maker<ToolCallsKeys>(
      [](const RewardConfig&, const ToolCallsKeys& keys) { return std::make_unique<ToolCallsReward>(keys); });
}

}  // namespace cohort
