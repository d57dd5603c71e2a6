#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "cohort/view/completion_answers.h"
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
std::optional<float> solved_from(std::span<const CompletionEntry> entries) {
  float least = std::numeric_limits<float>::infinity(), most = -least;
  for (const CompletionEntry& entry : entries) {
    if (!std::isfinite(entry.reward)) continue;
    least = std::min(least, entry.reward);
    most = std::max(most, entry.reward);
  }
  return least < most ? std::optional((least + most) / 2) : std::nullopt;
}

enum class Story { kSolvedBefore, kNewlySolved, kStillFailing };

bool fits(const PromptSummary& prompt, Story story, float threshold) {
  const bool before = prompt.first_reward >= threshold, after = prompt.last_reward >= threshold;
  if (std::isnan(prompt.first_reward) || std::isnan(prompt.last_reward)) return false;
  if (story == Story::kSolvedBefore) return before && after;
  return story == Story::kNewlySolved ? !before && after : !before && !after;
}

/// How well a prompt tells the story.
float strength(const PromptSummary& prompt, Story story) {
  if (story == Story::kSolvedBefore) return std::min(prompt.first_reward, prompt.last_reward);
  return story == Story::kNewlySolved ? prompt.last_reward - prompt.first_reward : -prompt.last_reward;
}

const PromptSummary* choose(const std::vector<PromptSummary>& prompts, Story story, float threshold) {
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
    if (entry.prompt != prompt || std::isnan(entry.reward)) continue;
    const bool is_better =
        chosen == nullptr || (is_best ? entry.reward > chosen->reward : entry.reward < chosen->reward);
    if (is_better) chosen = &entry;
  }
  return chosen;
}

void add_completion(RunView& run, const CompletionEntry* entry, float mean, std::vector<Block>& blocks) {
  if (entry == nullptr) return;
  const Json row = Json::parse(run.completions().line(*entry));
  const Json text = row.value("completion", Json(""));
  blocks.push_back(
      CodeBlock{str("Step ", entry->step, ", reward ", short_number(static_cast<double>(entry->reward)),
                    ", mean of the group ", short_number(static_cast<double>(mean))),
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
  add_completion(run, completion_of(entries, prompt.prompt, prompt.first_step, was_solved),
                 prompt.first_reward, blocks);
  add_completion(run, completion_of(entries, prompt.prompt, prompt.last_step, is_solved), prompt.last_reward,
                 blocks);
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::vector<Block> examples(RunView& run) {
  const std::span<const CompletionEntry> entries = run.completions().entries();
  const std::optional<float> threshold = solved_from(entries);
  if (!threshold)
    return {Paragraph{entries.empty()
                          ? "The run recorded no completions."
                          : "All rewards of the run are the same, so that no example shows a difference."}};
  const std::vector<PromptSummary> prompts = prompt_summaries(entries);
  std::vector<Block> blocks{
      Paragraph{str("A prompt counts as solved if the mean reward of its group is at least ",
                    short_number(static_cast<double>(*threshold)),
                    ", halfway between the run's smallest and largest "
                    "reward. Each example is of the first and of the last step that drew the prompt.")}};
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

std::vector<Block> repetition(std::span<const RunView> runs) {
  const RunView& first = runs.front();
  std::vector<Block> blocks{
      Paragraph{"Save the recipe as recipe.toml beside the files that it names, and run:"},
      CodeBlock{"", str("cohort ", first.kind(), " recipe.toml --run-dir runs/again"), "sh"},
      CodeBlock{str("recipe.toml, the resolved recipe of ", first.name()),
                shortened(read_text(first.path() / "config.toml"), kMostRecipeBytes), "toml"}};
  if (runs.size() == 1) return blocks;
  Table table{"Settings of the other runs that differ from this recipe.", {"setting", "run", "value"}, {}};
  const Json base = first.recipe().flatten();
  for (const RunView& run : runs.subspan(1)) {
    const Json own = run.recipe().flatten();
    for (const auto& [key, value] : own.items()) {
      if (base.contains(key) && base.at(key) == value) continue;
      std::string dotted = key.substr(1);
      std::ranges::replace(dotted, '/', '.');
      table.rows.push_back({dotted, run.name(), shortened(string_or_json(value), 200)});
    }
  }
  blocks.push_back(std::move(table));
  return blocks;
}

}  // namespace cohort
