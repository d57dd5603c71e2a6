#include "cohort/reward_models/steps.h"

#include "cohort/core/error.h"
#include "cohort/text/incremental_detokenizer.h"

namespace cohort {
namespace {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace

Steps split_steps(std::string_view text, std::string_view separator) {
  COHORT_CHECK(!separator.empty());
  Steps steps;
  size_t begin = 0;
  for (size_t found; (found = text.find(separator, begin)) != std::string_view::npos;) {
    const bool is_step = !is_blank(text.substr(begin, found - begin));
    begin = found + separator.size();
    if (is_step) steps.ends.push_back(begin);
  }
  if (!is_blank(text.substr(begin)) || steps.ends.empty()) {
    steps.ends.push_back(text.size());
    steps.is_open = true;
  }
  return steps;
}

std::vector<int64_t> token_ends(const Tokenizer& tokenizer, const std::vector<int32_t>& ids,
                                const std::vector<size_t>& ends) {
  IncrementalDetokenizer detokenizer(tokenizer);
  std::vector<int64_t> tokens;
  size_t bytes = 0;
  int64_t count = 0;
  while (tokens.size() < ends.size()) {
    const bool is_at_end = count == static_cast<int64_t>(ids.size());  // with what was held back to it
    if (bytes >= ends[tokens.size()] || is_at_end) {
      tokens.push_back(count);
    } else {
      bytes += detokenizer.push(ids[count++]).size();
    }
  }
  return tokens;
}

StepTokens step_tokens(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, std::string_view text,
                       const std::string& separator) {
  const Steps steps = split_steps(text, separator);
  StepTokens result{{}, token_ends(tokenizer, ids, steps.ends)};
  result.ids.assign(ids.begin(), ids.begin() + result.ends.back());
  if (steps.is_open) {
    const std::vector<int32_t> closing = tokenizer.encode(separator, {.add_special_tokens = false});
    result.ids.insert(result.ids.end(), closing.begin(), closing.end());
    result.ends.back() = static_cast<int64_t>(result.ids.size());
  }
  return result;
}

}  // namespace cohort
