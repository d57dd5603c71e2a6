// Findings about a run's settings, model and data.
#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/objectives/completion_weights.h"
#include "cohort/objectives/objective_config.h"
#include "cohort/rewards/reward_weight.h"
#include "cohort/rewards/section_tags.h"
#include "cohort/sampler/context_room.h"
#include "cohort/sampler/stop_ids.h"
#include "cohort/train/grpo/preflight.h"
#include "cohort/train/grpo/step_rollout.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

using Findings = std::vector<Finding>;

bool is_of_tags(const RewardConfig& reward) {
  const std::string& type = reward.type.empty() ? reward.name : reward.type;
  return type == "format" || type == "tag_count";
}

// ---- the end of a completion

/// The special token after an assistant's message in the chat template; nothing where none follows.
std::optional<int32_t> end_of_turn(const RunPlan& plan, const Prompt& prompt) {
  const auto messages = prompt.fields.find("prompt_messages");
  if (messages == prompt.fields.end() || !plan.format.render) return std::nullopt;
  constexpr const char* kMark = "x31415x";
  Json conversation = *messages;
  if (conversation.back().value("role", Json()) == "assistant") conversation.erase(conversation.size() - 1);
  conversation.push_back({{"role", "assistant"}, {"content", kMark}});
  RenderOptions options;
  options.tools = prompt.fields.value("tools", Json());
  options.chat_template_kwargs = prompt.fields.value("chat_template_kwargs", Json());
  std::string text;
  try {
    text = plan.format.render(conversation, options);
  } catch (const UserError&) {
    return std::nullopt;
  }
  const size_t mark = text.rfind(kMark);
  if (mark == std::string::npos) return std::nullopt;
  const std::vector<int32_t> ids =
      plan.format.tokenize_rendered(std::string(trim(text.substr(mark + std::string_view(kMark).size()))));
  if (ids.empty() || !plan.tokenizer.is_special(ids.front())) return std::nullopt;
  return ids.front();
}

void find_stop_tokens(const RunPlan& plan, const Prompt& prompt, Findings& findings) {
  const RolloutConfig& rollout = plan.config.rollout;
  if (rollout.ignore_eos || !rollout.stop_strings.empty()) return;
  const std::vector<int32_t> stops = merged_stop_ids(stop_token_ids(plan.model, &plan.tokenizer),
                                                     rollout.ignore_eos, rollout.stop_token_ids);
  if (stops.empty()) {
    findings.push_back(
        {Severity::kWarning,
         "neither the model nor its tokenizer names a stop token, so that every completion runs to "
         "rollout.max_completion_length: give generation_config.json an eos_token_id, or set "
         "rollout.stop_strings"});
    return;
  }
  const std::optional<int32_t> end = end_of_turn(plan, prompt);
  if (!end || std::ranges::find(stops, *end) != stops.end()) return;
  findings.push_back(
      {Severity::kWarning,
       str("the chat template ends the assistant's turn with ", *plan.tokenizer.token(*end), " (id ", *end,
           "), which is no stop token, so that completions go on after it: add it to eos_token_id in "
           "generation_config.json")});
}

// ---- the context

void find_short_context(const RunPlan& plan, Findings& findings) {
  const int64_t asked = plan.config.rollout.max_completion_length, context = plan.model.context_length;
  const auto& [longest, address] = *plan.data.prompt_lengths().rbegin();
  const int64_t shortest = plan.data.prompt_lengths().begin()->first;
  const std::string excess = context_excess("rollout.max_completion_length", asked, context,
                                            {longest, plan.data.row(address).id, shortest});
  if (excess.empty()) return;
  const ObjectiveSettings settings = resolved(plan.config.objective, asked);
  const bool divides = find_aggregation(settings.loss.aggregation).reads_max_completion_length &&
                       settings.loss.max_completion_length == asked;
  findings.push_back(
      {Severity::kWarning,
       str(excess, divides ? str(", and the loss still divides by ", asked) : "", ". Set it to ",
           context - longest,
           ", or leave long prompts out by data.max_prompt_length and data.filter_overlong_prompts")});
}

// ---- sections in tags

/// Those of `tags` that the prompt leaves for the completion.
std::vector<std::string> tags_to_write(const Prompt& prompt, const std::vector<std::string>& tags) {
  const std::string begun = tagged_text(prompt, {}, tags);
  std::vector<std::string> left;
  for (const std::string& tag : tags) {
    if (begun.find(tag) == std::string::npos) left.push_back(tag);
  }
  return left;
}

/// Why the texts that rewards see can't hold all of `tags`; empty where they can.
std::string why_impossible(const RunPlan& plan, const std::vector<std::string>& tags) {
  const RolloutConfig& rollout = plan.config.rollout;
  std::string joined;
  for (const std::string& tag : tags) {
    joined += tag;
    const std::vector<int32_t> ids = plan.tokenizer.encode(tag, {.add_special_tokens = false});
    const bool is_hidden =
        std::ranges::any_of(ids, [&](int32_t id) { return plan.tokenizer.is_special(id); });
    if (rollout.skip_special_tokens && is_hidden)
      return str("the tokenizer marks ", tag,
                 " as special, which texts leave out: set rollout.skip_special_tokens = "
                 "false");
    for (const std::string& stop : rollout.stop_strings) {
      const bool ends_all = &tag == &tags.back() && tag.ends_with(stop);
      if (tag.find(stop) == std::string::npos || (ends_all && rollout.include_stop_str_in_output)) continue;
      if (ends_all)
        return str("rollout.include_stop_str_in_output = false cuts the stop string ", stop,
                   " off: set it to true");
      return str("the stop string ", stop, " ends completions at ", tag,
                 ": remove it from rollout.stop_strings");
    }
  }
  const auto needed = std::ssize(plan.tokenizer.encode(joined, {.add_special_tokens = false}));
  if (needed <= rollout.max_completion_length) return "";
  return str("the tags alone take ", needed,
             " tokens, more than rollout.max_completion_length = ", rollout.max_completion_length,
             ": raise it");
}

/// A stop token that texts show stands after the last section.
bool shows_stop_token(const RunPlan& plan) {
  const RolloutConfig& rollout = plan.config.rollout;
  if (!rollout.include_stop_str_in_output || rollout.ignore_eos) return false;
  return std::ranges::any_of(stop_token_ids(plan.model, &plan.tokenizer), [&](int32_t id) {
    return !rollout.skip_special_tokens || !plan.tokenizer.is_special(id);
  });
}

void find_impossible_formats(const RunPlan& plan, const Prompt& prompt, Findings& findings) {
  for (const RewardConfig& reward : plan.config.reward) {
    if (!is_of_tags(reward) || !ever_counts(reward)) continue;
    const bool is_format = (reward.type.empty() ? reward.name : reward.type) == "format";
    std::string why = why_impossible(plan, tags_to_write(prompt, section_tags(reward)));
    if (why.empty() && is_format && shows_stop_token(plan)) {
      why =
          "texts show the stop token after the last section: set rollout.include_stop_str_in_output = false";
    }
    if (!why.empty())
      findings.push_back({Severity::kWarning, str("reward ", reward.name, " can never be 1, because ", why)});
  }
}

/// The pattern without its backslashes, which stand before plain characters for the most part.
std::string plain_pattern(const RewardConfig& reward) {
  auto plain = value_in<std::string>(reward.keys, "pattern");
  std::erase(plain, '\\');
  return plain;
}

/// Patterns that ask for what no text shows.
void find_impossible_patterns(const RunPlan& plan, const Prompt& prompt, Findings& findings) {
  const RolloutConfig& rollout = plan.config.rollout;
  const bool is_opened = !tagged_text(prompt, {}, {"<think>", "</think>"}).empty();
  for (const RewardConfig& reward : plan.config.reward) {
    const std::string pattern = plain_pattern(reward);
    if (is_opened && pattern.find("<think>") != std::string::npos)
      findings.push_back(
          {Severity::kWarning, str("reward ", reward.name,
                                   ": `pattern` asks for <think>, which the prompt holds and no "
                                   "completion repeats: begin it after that tag")});
    for (const std::string& stop : rollout.stop_strings) {
      if (rollout.include_stop_str_in_output || pattern.find(stop) == std::string::npos) continue;
      findings.push_back(
          {Severity::kWarning, str("reward ", reward.name, ": `pattern` asks for the stop string ", stop,
                                   ", which rollout.include_stop_str_in_output = false cuts off: set "
                                   "it to true")});
    }
  }
}

/// That the prompt has opened the first section.
void note_opened_section(const RunPlan& plan, const Prompt& prompt, Findings& findings) {
  const std::vector<std::string> thinking{"<think>", "</think>"};
  std::vector<std::string> counted;
  std::string begun = tagged_text(prompt, {}, thinking);
  for (const RewardConfig& reward : plan.config.reward) {
    if (!is_of_tags(reward)) continue;
    const std::string own = tagged_text(prompt, {}, section_tags(reward));
    if (own.empty()) continue;
    begun = own;
    counted.push_back(reward.name);
  }
  if (begun.empty()) return;
  std::string names;
  for (const std::string& name : counted) names += (names.empty() ? "" : ", ") + name;
  findings.push_back(
      {Severity::kNote, str("the prompt ends with ", excerpt(begun), ", so that completions begin after it",
                            counted.empty() ? ""
                                            : str("; ", names, counted.size() == 1 ? " counts" : " count",
                                                  " it as the completion's"),
                            "; functions and patterns of yours must not ask for it")});
}

}  // namespace

Findings settings_findings(const RunPlan& plan, const Prompt& prompt) {
  Findings findings;
  find_stop_tokens(plan, prompt, findings);
  find_short_context(plan, findings);
  find_impossible_formats(plan, prompt, findings);
  find_impossible_patterns(plan, prompt, findings);
  note_opened_section(plan, prompt, findings);
  return findings;
}

}  // namespace cohort
