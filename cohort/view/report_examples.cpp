#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "cohort/explain/prompt_summary.h"
#include "cohort/explain/run_diff.h"
#include "cohort/view/report_parts.h"
#include "libs/common/visible_text.h"

namespace cohort {
namespace {

constexpr size_t kMostBytes = 4000;  // of a text that is shown
constexpr size_t kMostRecipeBytes = 64 << 10;

std::string shortened(const std::string& text, size_t max_bytes = kMostBytes) {
  if (text.size() <= max_bytes) return text;
  return first_bytes(text, max_bytes) + str("\n… (", text.size() - max_bytes, " more bytes)");
}

/// Halfway between the smallest and the largest reward of the run; nothing if all are the same.
std::optional<double> solved_from(std::span<const CompletionEntry> entries) {
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (const CompletionEntry& entry : entries) {
    if (!has_drawn_reward(entry)) continue;
    least = std::min(least, entry.reward);
    most = std::max(most, entry.reward);
  }
  if (!(least < most)) return std::nullopt;
  return (static_cast<double>(least) + static_cast<double>(most)) / 2;
}

enum class Story { kSolvedBefore, kNewlySolved, kStillFailing };

bool fits(const PromptSummary& prompt, Story story, double threshold) {
  const bool before = prompt.first_reward >= threshold, after = prompt.last_reward >= threshold;
  if (std::isnan(prompt.first_reward) || std::isnan(prompt.last_reward)) return false;
  if (story == Story::kSolvedBefore) return before && after;
  return story == Story::kNewlySolved ? !before && after : !before && !after;
}

/// How well a prompt tells the story.
double strength(const PromptSummary& prompt, Story story) {
  if (story == Story::kSolvedBefore) return std::min(prompt.first_reward, prompt.last_reward);
  return story == Story::kNewlySolved ? prompt.last_reward - prompt.first_reward : -prompt.last_reward;
}

const PromptSummary* choose(const std::vector<PromptSummary>& prompts, Story story, double threshold) {
  const PromptSummary* best = nullptr;
  for (const PromptSummary& prompt : prompts) {
    if (prompt.first_step == prompt.last_step || !fits(prompt, story, threshold)) continue;
    if (best == nullptr || strength(prompt, story) > strength(*best, story)) best = &prompt;
  }
  return best;
}

/// The completion of a prompt in a step with the largest reward, or the smallest.
const CompletionEntry* completion_of(std::span<const CompletionEntry> entries, uint64_t prompt, uint32_t step,
                                     bool is_best) {
  const auto of_step = std::ranges::equal_range(entries, step, {}, &CompletionEntry::step);
  const CompletionEntry* chosen = nullptr;
  for (const CompletionEntry& entry : of_step) {
    if (entry.prompt != prompt || !has_drawn_reward(entry)) continue;
    const bool is_better =
        chosen == nullptr || (is_best ? entry.reward > chosen->reward : entry.reward < chosen->reward);
    if (is_better) chosen = &entry;
  }
  return chosen;
}

/// The best completion of a prompt in a step, or the worst.
void add_completion(RunView& run, const PromptSummary& prompt, bool is_last, bool is_best,
                    std::vector<Block>& blocks) {
  const CompletionEntry* entry = completion_of(run.completions().entries(), prompt.prompt,
                                               is_last ? prompt.last_step : prompt.first_step, is_best);
  if (entry == nullptr) return;
  const Json row = Json::parse(run.completions().line(*entry));
  const Json text = row.value("completion", Json(""));
  blocks.push_back(
      CodeBlock{str("Step ", entry->step, ", the ", is_best ? "best" : "worst", " of the group: reward ",
                    short_number(static_cast<double>(entry->reward)), ", mean of the group ",
                    short_number(is_last ? prompt.last_reward : prompt.first_reward)),
                shortened(string_or_json(text))});
}

void add_story(RunView& run, const PromptSummary& prompt, Story story, std::vector<Block>& blocks) {
  constexpr const char* kTitles[] = {"Solved before and after", "Newly solved", "Still failing"};
  const std::span<const CompletionEntry> entries = run.completions().entries();
  const Json row = Json::parse(run.completions().line(entries[prompt.first_entry]));
  blocks.push_back(Heading{3, kTitles[static_cast<int>(story)]});
  blocks.push_back(CodeBlock{str("Prompt ", row.value("prompt_id", "")),
                             shortened(string_or_json(row.value("prompt", Json(""))))});
  const bool was_solved = story == Story::kSolvedBefore, is_solved = story != Story::kStillFailing;
  add_completion(run, prompt, false, was_solved, blocks);
  add_completion(run, prompt, true, is_solved, blocks);
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The command that repeats a run, and its recipe.
void add_command(const RunView& run, std::vector<Block>& blocks) {
  blocks.push_back(CodeBlock{str("The run ", run.name()),
                             str("cohort ", run.kind(), " recipe.toml --run-dir runs/again"), "sh"});
  blocks.push_back(CodeBlock{str("recipe.toml, the resolved recipe of ", run.name()),
                             shortened(read_text(run.path() / "config.toml"), kMostRecipeBytes), "toml"});
}

std::string value_text(const Json& value) {
  return value.is_null() ? "-" : shortened(string_or_json(value), 200);
}

}  // namespace

std::vector<Block> examples(RunView& run) {
  const std::span<const CompletionEntry> entries = run.completions().entries();
  const std::optional<double> threshold = solved_from(entries);
  if (!threshold)
    return {Paragraph{entries.empty()
                          ? "The run recorded no completions."
                          : "All rewards of the run are the same, so that no example shows a difference."}};
  const std::vector<PromptSummary> prompts = prompt_summaries(entries);
  std::vector<Block> blocks{Paragraph{
      str("A prompt counts as solved if the mean reward of its group is at least ", short_number(*threshold),
          ", halfway between the run's smallest and largest "
          "reward. Each example is of the first and of the last step that drew the prompt: the best "
          "completion of a group that counts as solved, and the worst of another.")}};
  for (const Story story : {Story::kSolvedBefore, Story::kNewlySolved, Story::kStillFailing}) {
    if (const PromptSummary* prompt = choose(prompts, story, *threshold))
      add_story(run, *prompt, story, blocks);
  }
  if (blocks.size() == 1)
    blocks = {Paragraph{"No prompt was drawn in two steps, so that there is no before and after."}};
  return blocks;
}

std::vector<Block> health(RunView& run) {
  const std::vector<RunFinding>& findings = run.findings();
  std::vector<Block> blocks{Heading{3, run.name()}};
  if (findings.empty()) {
    blocks.push_back(Paragraph{"The rules of cohort explain found nothing wrong."});
    return blocks;
  }
  BulletList list;
  for (const RunFinding& finding : findings) {
    std::string text = str(to_string(finding.level), ": ", finding.text, " ", finding.advice);
    if (!finding.samples.empty()) text += " See: " + completions_command(run, finding.samples.front());
    list.items.push_back(std::move(text));
  }
  blocks.push_back(std::move(list));
  return blocks;
}

std::vector<Block> repetition(std::span<const RunView> runs, const std::string& version) {
  const RunView& first = runs.front();
  const std::string program = version.empty() ? ""
                                              : str(" This report was written by cohort ", version,
                                                    "; a run does not record its version.");
  std::vector<Block> blocks{Paragraph{
      "Save a recipe as recipe.toml and start the command in the directory in which the run was started: "
      "relative paths of the recipe hold there. A run does not record which one it was." +
      program}};
  add_command(first, blocks);
  for (const RunView& run : runs.subspan(1)) {
    if (run.kind() != first.kind()) {
      add_command(run, blocks);
      continue;
    }
    Table table{str("The run ", run.name(), ": the same command; its recipe differs in these settings."),
                {"setting", first.name(), run.name()},
                {}};
    for (const SettingDifference& setting : compare_settings(first.recipe(), run.recipe()))
      table.rows.push_back({setting.key, value_text(setting.a), value_text(setting.b)});
    if (table.rows.empty()) {
      blocks.push_back(Paragraph{str("The run ", run.name(), ": the same command and recipe.")});
    } else {
      blocks.push_back(std::move(table));
    }
  }
  return blocks;
}

}  // namespace cohort
