#include "cohort/view/completion_query.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <random>

#include "cohort/core/json.h"
#include "libs/common/hash.h"

namespace cohort {
namespace {

std::string no_line(const CompletionEntry&) { return "{}"; }

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
    const CompletionPage page = find_completions(entries, query, no_line);
    EXPECT_EQ(page.matched, std::ssize(expected));
    EXPECT_TRUE(page.is_complete);
    const auto first = expected.begin() + std::min(query.offset, std::ssize(expected));
    const auto last = first + std::min<int64_t>(query.limit, expected.end() - first);
    EXPECT_EQ(page.rows, std::vector<uint32_t>(first, last)) << "round " << round;
  }
}

TEST(CompletionQuery, GroupsByPrompt) {
  const std::vector<CompletionEntry> entries = random_entries(200, 1);
  CompletionQuery query{.order = CompletionOrder::kPrompt, .limit = 200};
  const std::vector<uint32_t> rows = find_completions(entries, query, no_line).rows;
  ASSERT_EQ(rows.size(), 200u);
  for (size_t i = 1; i < rows.size(); ++i) {
    const bool is_sorted = entries[rows[i - 1]].prompt < entries[rows[i]].prompt ||
                           (entries[rows[i - 1]].prompt == entries[rows[i]].prompt && rows[i - 1] < rows[i]);
    EXPECT_TRUE(is_sorted);
  }
}

TEST(CompletionQuery, SortsMillionsWithinASecond) {
  const std::vector<CompletionEntry> entries = random_entries(2'000'000, 3);
  const CompletionQuery query{.reward{.low = 0.2},
                              .order = CompletionOrder::kAdvantage,
                              .is_descending = true,
                              .offset = 500'000,
                              .limit = 500};
  const std::clock_t begin = std::clock();  // of the processor, which other tests share
  const CompletionPage page = find_completions(entries, query, no_line);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(page.rows.size(), 500u);
  EXPECT_LT(seconds, 0.5);
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
}

std::vector<std::string> numbered_lines(size_t count) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i)
    lines.push_back(to_json_text(
        {{"prompt", "Question " + std::to_string(i)}, {"completion", i % 10 == 3 ? "YES" : "no"}}));
  return lines;
}

TEST(CompletionQuery, SearchesTextsInPartsAndForgetsNone) {
  const std::vector<CompletionEntry> entries = random_entries(100, 5);
  const std::vector<std::string> lines = numbered_lines(entries.size());
  const auto line_of = [&](const CompletionEntry& entry) { return lines[static_cast<size_t>(entry.place)]; };
  for (const bool is_descending : {false, true}) {
    CompletionQuery query{.text = "yes", .is_descending = is_descending, .search_s = 0.0};  // one line a call
    std::vector<uint32_t> found;
    int64_t num_calls = 0;
    for (bool is_complete = false; !is_complete && num_calls < 1000; ++num_calls) {
      const CompletionPage page = find_completions(entries, query, line_of);
      EXPECT_EQ(page.matched, std::ssize(page.rows));
      found.insert(found.end(), page.rows.begin(), page.rows.end());
      query.resume = page.resume;
      is_complete = page.is_complete;
    }
    EXPECT_EQ(num_calls, 100);
    std::vector<uint32_t> expected{3, 13, 23, 33, 43, 53, 63, 73, 83, 93};
    if (is_descending) std::ranges::reverse(expected);
    EXPECT_EQ(found, expected);
  }
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
                             "limit=50&resume=7&prompt_id=a%3A1"));
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
  EXPECT_EQ(query.resume, 7);
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
