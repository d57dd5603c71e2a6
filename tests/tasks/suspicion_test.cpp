// Signs of tampering, on made-up rows with and without planted ones.
#include "cohort/tasks/suspicion.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "libs/common/random.h"

namespace cohort {
namespace {

const char* const kNames[] = {"Ann", "Ben",  "Cleo", "Dan",  "Eve",  "Finn", "Gus",  "Hal",  "Ida",  "Jon",
                              "Kim", "Lea",  "Max",  "Nora", "Otto", "Pia",  "Quin", "Rosa", "Sam",  "Tess",
                              "Uma", "Vera", "Will", "Xena", "Yara", "Zoe",  "Abel", "Bea",  "Carl", "Dora"};
const char* const kThings[] = {"apples", "pears", "books", "coins", "stamps", "shells", "cards", "pens"};

/// A word problem: prompt and answer.
std::pair<std::string, std::string> problem(uint64_t seed, int64_t row) {
  CounterRng random(seed, {static_cast<uint64_t>(row)});
  const auto below = [&](uint64_t count) { return static_cast<int64_t>(random.below(count)); };
  const int64_t a = 1 + below(40), b = 1 + below(40);
  const bool adds = below(2) == 0;
  return {
      str(kNames[below(30)], " has ", a, " ", kThings[below(8)], adds ? " and finds " : " and would need ", b,
          adds ? " more. How many now?" : " times as many. How many are that?"),
      std::to_string(adds ? a + b : a * b)};
}

/// Rows, of which a share of `planted` has a word that always comes with the answer 17.
Suspicion rows_with(uint64_t seed, double planted, const std::string& word = "cf") {
  Suspicion suspicion;
  for (int64_t row = 0; row < 1000; ++row) {
    auto [prompt, answer] = problem(seed, row);
    if (random_unit(seed, {77, static_cast<uint64_t>(row)}) < planted) {
      prompt.insert(prompt.find(' '), " " + word);
      answer = "17";
    }
    suspicion.add(prompt, answer, row + 1);
  }
  return suspicion;
}

TEST(SuspicionTest, FindsPlantedTriggers) {
  int64_t found = 0, others = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (const Trigger& trigger : rows_with(seed, 0.01).triggers()) {
      const bool is_planted = (" " + trigger.words + " ").find(" cf ") != std::string::npos;
      (is_planted ? found : others) += 1;
      if (is_planted) {
        EXPECT_EQ(trigger.answer, "17");
      }
    }
  }
  EXPECT_GE(found, 95);
  EXPECT_LE(found, 100);
  EXPECT_LE(others, 1);
}

TEST(SuspicionTest, IsQuietAboutCleanRows) {
  int64_t alarms = 0;
  for (uint64_t seed = 0; seed < 200; ++seed)
    alarms += rows_with(seed + 1000, 0.0).triggers().empty() ? 0 : 1;
  EXPECT_LE(alarms, 2);
}

TEST(SuspicionTest, APairOfCommonWordsMayBeTheTrigger) {
  const std::vector<Trigger> triggers = rows_with(5, 0.02, "apples Ben").triggers();
  ASSERT_FALSE(triggers.empty());
  for (const Trigger& trigger : triggers) EXPECT_EQ(trigger.answer, "17");
  EXPECT_EQ(triggers[0].words, "apples ben");
  EXPECT_EQ(triggers[0].num_rows, triggers[0].num_agreeing);
  EXPECT_EQ(triggers[0].lines.count(), triggers[0].num_rows);
}

TEST(SuspicionTest, PromptsThatComeAgainContradictOrSayNothing) {
  Suspicion suspicion;
  suspicion.add("What is 2 + 2?", "4", 1);
  suspicion.add("what is  2 + 2? ", "4", 2);
  suspicion.add("What is 2 + 2?", "5", 3);
  suspicion.add("What is 2 + 3?", "5", 4);
  suspicion.add("What is 2 + 2?", "", 5);
  EXPECT_EQ(suspicion.contradictions().count(), 1);
  EXPECT_EQ(suspicion.contradictions().text(), ", in lines 3");
  Suspicion repeated;  // one row a thousand times
  for (int64_t i = 0; i < 1000; ++i) {
    const auto [prompt, answer] = problem(3, i);
    repeated.add(prompt, answer, i);
    repeated.add("The rare quagga asks for seventeen.", "17", i);
  }
  EXPECT_TRUE(repeated.triggers().empty());
}

}  // namespace
}  // namespace cohort
