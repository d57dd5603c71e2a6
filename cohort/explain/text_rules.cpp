// Rules that read some of a run's completions.
#include <algorithm>
#include <map>
#include <set>

#include "cohort/core/error.h"
#include "cohort/explain/rules.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

constexpr size_t kMostRead = 64;      // lines, of 28 bytes a token
constexpr size_t kFewestPrompts = 4;  // fewer may look alike by accident
constexpr double kSameShare = 0.8;    // of all completions; short answers of one word come to half

/// Whether a text begins with the same piece twice, such as "**" or "ha ha": its first tokens may be the
/// same. The names of special tokens do not count.
bool repeats_its_begin(const std::string& text) {
  constexpr size_t kLongest = 32;
  if (text.empty() || text[0] == '<' || text[0] == '[') return false;
  for (size_t n = 1; n <= kLongest && 2 * n <= text.size(); ++n) {
    if (text.compare(0, n, text, n, n) == 0) return true;
  }
  return false;
}

bool is_own(const CompletionEntry& entry) { return (entry.flags & kIsDemonstration) == 0; }

/// The most frequent text with the lines that have it.
std::pair<std::string, std::vector<Json>> most_frequent(const std::vector<Json>& completions) {
  std::map<std::string, std::vector<Json>> by_text;
  for (const Json& line : completions) by_text[line.value("completion", "")].push_back(line);
  return *std::ranges::max_element(by_text, {}, [](const auto& entry) { return entry.second.size(); });
}

std::set<std::string> prompts_of(const std::vector<Json>& completions) {
  std::set<std::string> prompts;
  for (const Json& line : completions) prompts.insert(line.value("prompt", ""));
  return prompts;
}

}  // namespace

namespace rules {

std::vector<RunFinding> doubled_bos(const RuleInput& run) {
  if (!run.is_policy() || run.entries().empty()) return {};
  int64_t last_prompt = -1;
  const std::vector<Json> lines = run.newest_completions(kMostRead / 4, [&](const CompletionEntry& entry) {
    const bool is_other = static_cast<int64_t>(entry.prompt) != last_prompt;
    last_prompt = static_cast<int64_t>(entry.prompt);
    return is_other;
  });
  std::set<int64_t> firsts;
  for (const Json& line : lines) {
    const Json ids = line.value("prompt_ids", Json::array());
    if (ids.size() < 2 || ids[0] != ids[1] || repeats_its_begin(line.value("prompt", ""))) return {};
    firsts.insert(ids[0].get<int64_t>());
  }
  if (firsts.size() != 1) return {};
  return {finding(
      FindingLevel::kWarning,
      str("each of ", lines.size(), " prompts begins with token ", *firsts.begin(),
          " twice: the template and the tokenizer both add it"),
      "remove the token from the chat template or from the text of the prompts (`cohort render` shows the "
      "ids)",
      {}, samples_of({lines.begin(), lines.begin() + std::min<std::ptrdiff_t>(3, std::ssize(lines))}))};
}

std::vector<RunFinding> same_text(const RuleInput& run) {
  if (!run.is_policy() || run.curve("reward").size() < kFewestCertainSteps || is_solved(run)) return {};
  const std::vector<Json> lines = run.newest_completions(kMostRead, is_own);
  if (lines.size() < kFewestPrompts || prompts_of(lines).size() < kFewestPrompts) return {};
  const auto [text, alike] = most_frequent(lines);
  const double share = static_cast<double>(alike.size()) / static_cast<double>(lines.size());
  if (share < kSameShare || prompts_of(alike).size() < kFewestPrompts) return {};
  return {finding(FindingLevel::kProblem,
                  str(alike.size(), " of the newest ", lines.size(),
                      " completions are the same text, whatever the prompt: ", excerpt(text)),
                  str("see why the rewards accept it, lower ", run.named("optimizer.learning_rate"),
                      ", raise ", run.named("objective.beta"), " or ", run.named("rollout.temperature")),
                  {}, samples_of({alike.begin(), alike.begin() + 3}))};
}

}  // namespace rules
}  // namespace cohort
