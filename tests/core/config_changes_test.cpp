// What differs between two readings of one recipe, and what resuming makes of it.
#include <gtest/gtest.h>

#include "cohort/core/config_io.h"

namespace cohort {
namespace {

struct Worker {
  std::string name;
  int64_t threads = 1;

  void describe(FieldVisitor& f) {
    f("name", name, "Who.");
    f("threads", threads, "How many.", at_least(1), OnResume::kTaken);
  }
};

struct Plan {
  std::string path;
  std::optional<double> bound;
  std::vector<Worker> worker;

  void describe(FieldVisitor& f) {
    f("path", path, "Where.", OnResume::kSameFiles);
    f("bound", bound, "How far.");
    f("worker", worker, "Somebody.");
  }
};

std::vector<SettingChange> changes(Plan before, Plan now) {
  return changed_settings(settings_of(before), settings_of(now));
}

TEST(ChangedSettings, AreNoneOfEqualOnes) {
  const Plan plan{.path = "a", .bound = 1.0, .worker = {{"x", 2}}};
  EXPECT_TRUE(changes(plan, plan).empty());
}

TEST(ChangedSettings, NameKeysValuesAndWhatResumingMakesOfThem) {
  const auto found = changes({.path = "a", .bound = {}, .worker = {{"x", 1}, {"y", 1}}},
                             {.path = "b", .bound = 0.5, .worker = {{"x", 3}, {"z", 1}}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].key, "path");
  EXPECT_EQ(found[0].on_resume, OnResume::kSameFiles);
  EXPECT_EQ(found[1].key, "bound");
  EXPECT_EQ(found[1].before, "unset");
  EXPECT_EQ(found[1].now, "0.5");
  EXPECT_EQ(found[1].on_resume, OnResume::kRefused);
  EXPECT_EQ(found[2].key, "worker.0.threads");
  EXPECT_EQ(found[2].on_resume, OnResume::kTaken);
  EXPECT_EQ(found[3].key, "worker.1.name");
  EXPECT_EQ(found[3].before, "\"y\"");
  EXPECT_EQ(found[3].now, "\"z\"");
}

TEST(ChangedSettings, CountATableThatOneSideLacksOnce) {
  const Plan one{.path = "a", .bound = {}, .worker = {{"x", 1}}};
  const Plan two{.path = "a", .bound = {}, .worker = {{"x", 1}, {"y", 5}}};
  const auto added = changes(one, two), removed = changes(two, one);
  ASSERT_EQ(added.size(), 1U);
  EXPECT_EQ(added[0].key + ": " + added[0].before + ", " + added[0].now, "worker.1: absent, a table");
  EXPECT_EQ(added[0].on_resume, OnResume::kRefused);
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].now, "absent");
}

TEST(Documentation, SaysWhatMayChange) {
  Plan plan{.path = "", .bound = {}, .worker = {{"x", 1}}};
  const std::string page = to_markdown(settings_of(plan)), help = to_help(settings_of(plan));
  EXPECT_NE(page.find("How many. May change at `--resume`. |"), std::string::npos) << page;
  EXPECT_NE(help.find("Where. May be another path to the same files at `--resume`.\n"), std::string::npos)
      << help;
  EXPECT_EQ(page.find("How far. May"), std::string::npos);
}

}  // namespace
}  // namespace cohort
