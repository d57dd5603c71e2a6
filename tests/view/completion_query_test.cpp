#include "cohort/view/completion_query.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "cohort/core/json.h"
#include "cohort/view/text_search.h"
#include "libs/common/hash.h"

namespace cohort {
namespace {

std::vector<CompletionEntry> random_entries(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<CompletionEntry> entries(count);
  for (size_t i = 0; i < count; ++i) {
    CompletionEntry& entry = entries[i];
    entry.place = static_cast<int64_t>(i);
    entry.prompt = fnv1a(std::to_string(random() % 50));
    entry.step = static_cast<uint32_t>(i / 16 + 1);
    entry.num_tokens = static_cast<uint32_t>(random() % 64);
    entry.reward = random() % 8 == 0 ? NAN : static_cast<float>(random() % 5) / 4;
    entry.advantage = random() % 8 == 0 ? NAN : static_cast<float>(random() % 100) / 50 - 1;
    entry.sample = static_cast<int32_t>(random() % 9) - 1;
    entry.flags = static_cast<uint32_t>(random() % 128);
  }
  return entries;
}

double key_of(const CompletionEntry& entry, CompletionOrder order) {
  switch (order) {
    case CompletionOrder::kStep:
      return entry.step;
    case CompletionOrder::kReward:
      return static_cast<double>(entry.reward);
    case CompletionOrder::kAdvantage:
      return static_cast<double>(entry.advantage);
    case CompletionOrder::kTokens:
      return entry.num_tokens;
    case CompletionOrder::kSample:
      return entry.sample;
    default:
      return 0.0;
  }
}

bool is_within(double value, const std::optional<double>& low, const std::optional<double>& high) {
  if (low && !(value >= *low)) return false;
  return !high || value <= *high;
}

/// All that match, sorted as a whole: keys ascending or descending, NaN last, equals in the order of lines or
/// reversed.
std::vector<uint32_t> naive(const std::vector<CompletionEntry>& entries, const CompletionQuery& query,
                            std::optional<double> reward_from, std::optional<double> reward_to) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const CompletionEntry& entry = entries[i];
    const bool has_flags = (entry.flags & query.flags) == query.flags;
    const bool has_prompt = !query.prompt_id || fnv1a(*query.prompt_id) == entry.prompt;
    if (has_flags && has_prompt && is_within(static_cast<double>(entry.reward), reward_from, reward_to))
      found.push_back(i);
  }
  if (query.is_descending) std::ranges::reverse(found);
  std::vector<uint32_t> numbers, nothing;
  for (const uint32_t i : found)
    (std::isnan(key_of(entries[i], query.order)) ? nothing : numbers).push_back(i);
  std::ranges::stable_sort(numbers, [&](uint32_t a, uint32_t b) {
    const double left = key_of(entries[a], query.order), right = key_of(entries[b], query.order);
    return query.is_descending ? left > right : left < right;
  });
  numbers.insert(numbers.end(), nothing.begin(), nothing.end());
  return numbers;
}

TEST(CompletionQuery, EqualsANaiveFilterAndSort) {
  std::mt19937_64 random(7);
  for (uint64_t round = 0; round < 300; ++round) {
    const std::vector<CompletionEntry> entries = random_entries(random() % 400, round);
    CompletionQuery query;
    std::optional<double> low, high;
    if (random() % 2 == 0) low = static_cast<double>(random() % 5) / 4;
    if (random() % 2 == 0) high = static_cast<double>(random() % 5) / 4;
    query.reward.low = low.value_or(query.reward.low);
    query.reward.high = high.value_or(query.reward.high);
    if (random() % 3 == 0) query.prompt_id = std::to_string(random() % 50);
    if (random() % 2 == 0) query.flags = 1u << (random() % 7);
    query.order = static_cast<CompletionOrder>(random() % 6);
    query.is_descending = random() % 2 == 0;
    query.offset = static_cast<int64_t>(random() % 60);
    query.limit = static_cast<int64_t>(random() % 60);
    const std::vector<uint32_t> expected = naive(entries, query, low, high);
    const CompletionPage page = find_completions(entries, query);
    EXPECT_EQ(page.matched, std::ssize(expected));
    EXPECT_TRUE(page.is_complete);
    const auto first = expected.begin() + std::min(query.offset, std::ssize(expected));
    const auto last = first + std::min<int64_t>(query.limit, expected.end() - first);
    EXPECT_EQ(page.rows, std::vector<uint32_t>(first, last)) << "round " << round;
  }
}

TEST(CompletionQuery, GroupsByPromptAsPromptsFirstCame) {
  const std::vector<CompletionEntry> entries = random_entries(200, 1);
  std::vector<uint64_t> prompts;
  for (const CompletionEntry& entry : entries)
    if (std::ranges::find(prompts, entry.prompt) == prompts.end()) prompts.push_back(entry.prompt);
  for (const bool is_descending : {false, true}) {
    std::vector<uint32_t> expected;
    for (const uint64_t prompt : prompts)
      for (uint32_t i = 0; i < entries.size(); ++i)
        if (entries[i].prompt == prompt) expected.push_back(i);
    if (is_descending) std::ranges::reverse(expected);
    const CompletionQuery query{
        .order = CompletionOrder::kPrompt, .is_descending = is_descending, .limit = 200};
    EXPECT_EQ(find_completions(entries, query).rows, expected);
  }
}

/// A tenth of them has "YES", and "Question" all.
std::vector<std::string> numbered_lines(size_t count) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i)
    lines.push_back(to_json_text(
        {{"prompt", "Question " + std::to_string(i)}, {"completion", i % 10 == 3 ? "YES" : "no"}}));
  return lines;
}

class TextSearchesTest : public testing::Test {
 protected:
  CompletionPage find(const CompletionQuery& query) { return find(entries_, query); }

  CompletionPage find(std::span<const CompletionEntry> entries, const CompletionQuery& query) {
    return searches_.find(entries, query, [&](const CompletionEntry& entry) {
      ++num_lines_;
      return lines_[static_cast<size_t>(entry.place)];
    });
  }

  /// Asks until the search is complete.
  CompletionPage find_all(const CompletionQuery& query) {
    CompletionPage page = find(query);
    while (!page.is_complete && num_lines_ < 10'000) page = find(query);
    return page;
  }

  std::vector<CompletionEntry> entries_ = random_entries(100, 5);
  std::vector<std::string> lines_ = numbered_lines(100);
  TextSearches searches_;
  int64_t num_lines_ = 0;
};

TEST_F(TextSearchesTest, GoOnAndForgetNone) {
  for (const bool is_descending : {false, true}) {
    const CompletionQuery query{.text = "yes", .is_descending = is_descending, .search_s = 0.0};
    std::vector<uint32_t> all{3, 13, 23, 33, 43, 53, 63, 73, 83, 93};
    if (is_descending) std::ranges::reverse(all);
    searches_.clear();
    for (int64_t num_calls = 1; num_calls <= 100; ++num_calls) {  // one line a call
      const CompletionPage page = find(query);
      EXPECT_EQ(page.num_searched, num_calls);
      EXPECT_EQ(page.is_complete, num_calls == 100);
      EXPECT_EQ(page.matched, std::ssize(page.rows));
      const int64_t found = is_descending ? (num_calls + 3) / 10 : (num_calls + 6) / 10;
      EXPECT_EQ(page.rows, std::vector<uint32_t>(all.begin(), all.begin() + found));
    }
    EXPECT_EQ(find(query).rows, all);
  }
  EXPECT_EQ(num_lines_, 200);  // none twice
}

TEST_F(TextSearchesTest, SortAndPageAllThatWasFound) {
  CompletionQuery query{.text = "question", .order = CompletionOrder::kTokens, .limit = 30, .search_s = 0.0};
  for (int64_t num_calls = 1; num_calls <= 50; ++num_calls) {  // sorted before it is complete, too
    std::vector<uint32_t> expected(static_cast<size_t>(num_calls));
    std::iota(expected.begin(), expected.end(), 0);
    std::ranges::stable_sort(expected, {}, [&](uint32_t i) { return entries_[i].num_tokens; });
    expected.resize(std::min<size_t>(expected.size(), 30));
    EXPECT_EQ(find(query).rows, expected);
  }
  find_all(query);
  EXPECT_EQ(num_lines_, 100);
  CompletionQuery plain = query;
  plain.text.clear();
  for (const CompletionOrder order :
       {CompletionOrder::kReward, CompletionOrder::kStep, CompletionOrder::kPrompt}) {
    for (const int64_t offset : {0, 30, 90, 120}) {
      query.order = plain.order = order;
      query.is_descending = plain.is_descending = offset == 30;
      query.offset = plain.offset = offset;
      const CompletionPage page = find(query);
      EXPECT_EQ(page.rows, find_completions(entries_, plain).rows);
      EXPECT_EQ(page.matched, 100);
      EXPECT_TRUE(page.is_complete);
    }
  }
  EXPECT_EQ(num_lines_, 100);  // a complete search reads no line again
}

TEST_F(TextSearchesTest, ReadNewLinesOnly) {
  for (const bool is_descending : {false, true}) {
    searches_.clear();
    num_lines_ = 0;
    const CompletionQuery query{.text = "yes", .is_descending = is_descending};
    EXPECT_EQ(find(std::span(entries_).first(50), query).matched, 5);
    const CompletionPage page = find(query);
    EXPECT_EQ(page.matched, 10);
    EXPECT_EQ(page.rows.front(), is_descending ? 93u : 3u);
    EXPECT_EQ(num_lines_, 100);
  }
}

TEST_F(TextSearchesTest, KeepTheFiltersApart) {
  const CompletionQuery query{.text = "yes"};
  EXPECT_EQ(find(query).matched, 10);
  CompletionQuery later = query;
  later.step.low = 3;  // from entry 32 on
  EXPECT_EQ(find(later).matched, 7);
  for (int n = 0; n < 20; ++n) find({.text = "no" + std::to_string(n)});  // the first ones are forgotten
  EXPECT_EQ(find(query).matched, 10);
  EXPECT_EQ(find(later).matched, 7);
}

TEST(CompletionQuery, FindsTextsInAnyCase) {
  const auto line = [](const std::string& completion) {
    return to_json_text(
        {{"prompt", "Wie groß ist Ä?"}, {"completion", completion}, {"finish_reason", "stop"}});
  };
  EXPECT_TRUE(has_text(line("The Answer"), "answer"));
  EXPECT_TRUE(has_text(line("the answer"), "ANSWER"));
  EXPECT_TRUE(has_text(line("x"), "GROß ist ä"));
  EXPECT_TRUE(has_text(line("a \"quoted\"\n\\ line"), "\"QUOTED\"\n\\"));
  EXPECT_TRUE(has_text(R"({"prompt":"\u0041b","completion":""})", "ab"));
  EXPECT_FALSE(has_text(line("x"), "finish_reason"));  // a key, not a text
  EXPECT_FALSE(has_text(line("x"), "stop"));
  EXPECT_FALSE(has_text(line("answe"), "answer"));
  EXPECT_FALSE(has_text(R"(["prompt"])", "prompt"));
  EXPECT_TRUE(has_text(line(""), ""));
}

TEST(CompletionQuery, ReadsAllParameters) {
  const CompletionQuery query =
      completion_query(Query("run=0&step_from=2&step_to=9&reward_from=0.5&flag=cut&flag=failed&text=Hi&sort="
                             "tokens&descending=1&offset=20&"
                             "limit=50&prompt_id=a%3A1"));
  EXPECT_EQ(query.step.low, 2.0);
  EXPECT_EQ(query.step.high, 9.0);
  EXPECT_EQ(query.reward.low, 0.5);
  EXPECT_TRUE(query.tokens.is_open());
  EXPECT_EQ(query.flags, kIsCut | kHasFailedReward);
  EXPECT_EQ(query.text, "Hi");
  EXPECT_EQ(query.order, CompletionOrder::kTokens);
  EXPECT_TRUE(query.is_descending);
  EXPECT_EQ(query.offset, 20);
  EXPECT_EQ(query.limit, 50);
  EXPECT_EQ(query.prompt_id, "a:1");
  EXPECT_EQ(flag_names(query.flags), (std::vector<std::string>{"cut", "failed"}));
}

TEST(CompletionQuery, RefusesParametersByName) {
  for (const char* bad :
       {"limit=501", "limit=-1", "sort=rewrad", "flag=unknown", "reward_from=x", "offset=1.5", "colour=1"})
    EXPECT_THROW(completion_query(Query(bad)), RequestError) << bad;
  try {
    completion_query(Query("sort=rewrad"));
  } catch (const RequestError& error) {
    EXPECT_STREQ(error.what(), "parameter sort is \"rewrad\"; the nearest name is \"reward\"");
  }
}

}  // namespace
}  // namespace cohort
