#include "cohort/view/completion_answers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cohort/explain/prompt_summary.h"
#include "cohort/view/completion_query.h"
#include "libs/common/excerpt.h"
#include "libs/common/hash.h"
#include "libs/common/visible_text.h"

namespace cohort {
namespace {

constexpr size_t kRowBytes = 300;          // of each text in a row of the table
constexpr size_t kPromptViewBytes = 4000;  // of a completion in the view of a prompt
constexpr size_t kMostSteps = 200;         // of that view
constexpr size_t kMostTokens = 300'000;    // of an answer, in which each is an object

Json number_or_null(float value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json line_json(RunView& run, const CompletionEntry& entry) {
  return parse_json_line(run.completions().line(entry), run.path() / "completions.jsonl", 1);
}

std::string text_of(const Json& row, const char* key, size_t max_bytes) {
  const auto found = row.find(key);
  if (found == row.end() || found->is_null()) return "";
  return first_bytes(string_or_json(*found), max_bytes);
}

Json table_row(RunView& run, uint32_t index) {
  const CompletionEntry& entry = run.completions().entries()[index];
  const Json row = line_json(run, entry);
  return {{"index", index},
          {"step", entry.step},
          {"sample", entry.sample},
          {"prompt_id", row.value("prompt_id", "")},
          {"reward", number_or_null(entry.reward)},
          {"advantage", number_or_null(entry.advantage)},
          {"tokens", entry.num_tokens},
          {"flags", flag_names(entry.flags)},
          {"prompt", text_of(row, "prompt", kRowBytes)},
          {"completion", text_of(row, "completion", kRowBytes)}};
}

/// The whole line with its tokens as texts, unless they are more than `num_left`, which they are taken from.
Json completion_json(RunView& run, uint32_t index, size_t& num_left) {
  Json row = line_json(run, run.completions().entries()[index]);
  row["index"] = index;
  Json tokens = Json::array();
  const Tokenizer* tokenizer = run.tokenizer().find(run.recipe());
  const size_t count = row.contains("completion_ids") ? row["completion_ids"].size() : 0;
  if (tokenizer == nullptr) {
    row["tokens_problem"] = run.tokenizer().problem();
  } else if (count > num_left) {
    row["tokens_problem"] =
        str("the completion's ", count, " would make more than ", kMostTokens, " in one answer");
  } else if (count > 0) {
    num_left -= count;
    try {
      for (const TokenText& token : token_texts(*tokenizer, row)) tokens.push_back(to_json(token));
    } catch (const std::exception& error) {
      row["tokens_problem"] = error.what();
    }
  }
  row["tokens"] = std::move(tokens);
  return row;
}

std::string required(const Query& query, const char* name) {
  const std::optional<std::string> value = query.text(name);
  if (!value) throw RequestError(400, str("parameter ", name, " is missing"));
  return *value;
}

/// Numbers of the entries of a prompt in a range of steps.
std::vector<uint32_t> entries_of(std::span<const CompletionEntry> entries, const std::string& prompt_id) {
  const uint64_t prompt = fnv1a(prompt_id);
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].prompt == prompt) found.push_back(i);
  }
  return found;
}

float mean_reward(std::span<const CompletionEntry> entries, std::span<const uint32_t> numbers) {
  double sum = 0.0;
  int64_t count = 0;
  for (const uint32_t i : numbers) {
    if (!std::isfinite(entries[i].reward)) continue;
    sum += static_cast<double>(entries[i].reward);
    ++count;
  }
  return count > 0 ? static_cast<float>(sum / static_cast<double>(count))
                   : std::numeric_limits<float>::quiet_NaN();
}

/// Ranges of numbers whose entries have one step.
std::vector<std::span<const uint32_t>> by_step(std::span<const CompletionEntry> entries,
                                               std::span<const uint32_t> numbers) {
  std::vector<std::span<const uint32_t>> steps;
  for (size_t begin = 0; begin < numbers.size();) {
    size_t end = begin + 1;
    while (end < numbers.size() && entries[numbers[end]].step == entries[numbers[begin]].step) ++end;
    steps.push_back(numbers.subspan(begin, end - begin));
    begin = end;
  }
  return steps;
}

Json step_row(RunView& run, std::span<const uint32_t> numbers) {
  const std::span<const CompletionEntry> entries = run.completions().entries();
  Json samples = Json::array();
  for (const uint32_t i : numbers) {
    samples.push_back({{"index", i},
                       {"reward", number_or_null(entries[i].reward)},
                       {"completion", text_of(line_json(run, entries[i]), "completion", kPromptViewBytes)}});
  }
  return {{"step", entries[numbers.front()].step},
          {"mean_reward", number_or_null(mean_reward(entries, numbers))},
          {"samples", std::move(samples)}};
}

}  // namespace

Json completions_answer(RunView& run, const Query& query) {
  const CompletionQuery wanted = completion_query(query);
  CompletionIndex& index = run.completions();
  const std::span<const CompletionEntry> entries = index.entries();
  const auto line_of = [&](const CompletionEntry& entry) { return index.line(entry); };
  const CompletionPage page =
      wanted.text.empty() ? find_completions(entries, wanted) : run.searches().find(entries, wanted, line_of);
  Json rows(std::vector<Json>(page.rows.size()));
  for (const size_t place : line_order(page.rows)) rows[place] = table_row(run, page.rows[place]);
  return {{"total", entries.size()}, {"matched", page.matched},         {"offset", wanted.offset},
          {"rows", std::move(rows)}, {"is_complete", page.is_complete}, {"num_searched", page.num_searched}};
}

Json completion_answer(RunView& run, const Query& query) {
  query.check_known({"run", "index"});
  required(query, "index");
  const int64_t index = *query.integer("index", 0, std::numeric_limits<uint32_t>::max());
  const int64_t count = std::ssize(run.completions().entries());
  if (index >= count) throw RequestError(404, str("there is no completion ", index, "; the run has ", count));
  size_t num_left = kMostTokens;
  return completion_json(run, static_cast<uint32_t>(index), num_left);
}

Json group_answer(RunView& run, const Query& query) {
  query.check_known({"run", "step", "prompt_id"});
  required(query, "step");
  const int64_t step = *query.integer("step", 0, std::numeric_limits<uint32_t>::max());
  const std::string prompt_id = required(query, "prompt_id");
  const std::span<const CompletionEntry> entries = run.completions().entries();
  const auto of_step =
      std::ranges::equal_range(entries, static_cast<uint32_t>(step), {}, &CompletionEntry::step);
  const uint64_t prompt = fnv1a(prompt_id);
  Json samples = Json::array();
  size_t num_left = kMostTokens;
  for (const CompletionEntry& entry : of_step) {
    if (entry.prompt == prompt)
      samples.push_back(completion_json(run, static_cast<uint32_t>(&entry - entries.data()), num_left));
  }
  if (samples.empty())
    throw RequestError(404, str("step ", step, " has no completion of prompt ", excerpt(prompt_id)));
  const std::string text = text_of(samples.front(), "prompt", std::string::npos);
  const std::span<const CompletionEntry> before(entries.begin(), of_step.begin()),
      after(of_step.end(), entries.end());
  const auto is_of_prompt = [&](const CompletionEntry& entry) { return entry.prompt == prompt; };
  const auto previous = std::ranges::find_if(before.rbegin(), before.rend(), is_of_prompt);
  const auto next = std::ranges::find_if(after, is_of_prompt);
  return {{"step", step},
          {"prompt_id", prompt_id},
          {"prompt", text},
          {"previous_step", previous != before.rend() ? Json(previous->step) : Json(nullptr)},
          {"next_step", next != after.end() ? Json(next->step) : Json(nullptr)},
          {"samples", std::move(samples)}};
}

Json prompt_answer(RunView& run, const Query& query) {
  query.check_known({"run", "prompt_id"});
  const std::string prompt_id = required(query, "prompt_id");
  const std::span<const CompletionEntry> entries = run.completions().entries();
  const std::vector<uint32_t> numbers = entries_of(entries, prompt_id);
  if (numbers.empty())
    throw RequestError(404, str("the run has no completion of prompt ", excerpt(prompt_id)));
  const std::vector<std::span<const uint32_t>> all = by_step(entries, numbers);
  const size_t count = std::min(all.size(), kMostSteps);
  Json steps = Json::array();
  for (size_t i = 0; i < count; ++i)
    steps.push_back(step_row(run, all[count > 1 ? i * (all.size() - 1) / (count - 1) : 0]));
  return {{"prompt_id", prompt_id}, {"num_steps", all.size()}, {"steps", std::move(steps)}};
}

Json prompts_answer(RunView& run, const Query& query) {
  query.check_known({"run", "offset", "limit"});
  const int64_t offset = query.integer("offset", 0, std::numeric_limits<int64_t>::max()).value_or(0);
  const int64_t limit = query.integer("limit", 0, 500).value_or(100);
  const std::span<const CompletionEntry> entries = run.completions().entries();
  const std::vector<PromptSummary> prompts = prompt_summaries(entries);
  const auto first = static_cast<size_t>(std::min(offset, std::ssize(prompts)));
  const std::span shown =
      std::span(prompts).subspan(first, std::min(static_cast<size_t>(limit), prompts.size() - first));
  std::vector<uint32_t> lines;
  for (const PromptSummary& prompt : shown) lines.push_back(prompt.first_entry);
  Json rows(std::vector<Json>(shown.size()));
  for (const size_t place : line_order(lines)) {
    const PromptSummary& prompt = shown[place];
    rows[place] = {{"prompt_id", line_json(run, entries[prompt.first_entry]).value("prompt_id", "")},
                   {"count", prompt.count},
                   {"first_step", prompt.first_step},
                   {"last_step", prompt.last_step},
                   {"first_reward", number_or_null(static_cast<float>(prompt.first_reward))},
                   {"last_reward", number_or_null(static_cast<float>(prompt.last_reward))}};
  }
  return {{"total", prompts.size()}, {"rows", std::move(rows)}};
}

}  // namespace cohort
