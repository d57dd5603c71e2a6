#include "cohort/core/config_table.h"

#include <gtest/gtest.h>

#include "cohort/core/config_io.h"
#include "cohort/core/error.h"

namespace cohort {
namespace {

struct OwnKeys {
  int64_t size = 3;
  std::optional<double> rate;
  std::string kind = "linear";
  std::vector<std::string> tags;
  bool is_on = false;

  void describe(FieldVisitor& f) {
    f("size", size, "", at_least(1));
    f("rate", rate, "");
    f("kind", kind, "");
    f("tags", tags, "");
    f("is_on", is_on, "");
  }
};

OwnKeys taken(const FieldTable& table) {
  OwnKeys keys;
  take_values(settings_of(keys), table);
  return keys;
}

/// The keys with their values in `table`.
Section kept_in(FieldTable& table) {
  OwnKeys keys;
  Section section = settings_of(keys);
  for (Field& field : section.fields) field = field_in(table, field);
  return section;
}

TEST(ConfigTable, GivesWhatItHolds) {
  const OwnKeys keys = taken({{"size", 5}, {"rate", 2}, {"kind", "cosine"}, {"tags", "x"}, {"is_on", true}});
  EXPECT_EQ(keys.size, 5);
  EXPECT_EQ(keys.rate, 2.0);
  EXPECT_EQ(keys.kind, "cosine");
  EXPECT_EQ(keys.tags, std::vector<std::string>{"x"});
  EXPECT_TRUE(keys.is_on);
  EXPECT_EQ(taken({{"size", std::optional<int64_t>(7)}, {"other", "x"}}).size, 7);
}

TEST(ConfigTable, LeavesWhatIsUnset) {
  EXPECT_EQ(taken({}).kind, "linear");
  EXPECT_EQ(taken({{"size", std::optional<int64_t>()}}).size, 3);
  EXPECT_EQ(value_in<std::string>({}, "kind"), "");
  EXPECT_EQ(value_in<std::string>({{"kind", "cosine"}}, "kind"), "cosine");
}

TEST(ConfigTable, RefusesOtherTypes) {
  EXPECT_THROW(taken({{"size", "5"}}), InternalError);
  EXPECT_THROW(taken({{"size", 5.5}}), InternalError);
  EXPECT_THROW(taken({{"is_on", 1}}), InternalError);
  EXPECT_THROW(taken({{"kind", std::vector<std::string>{"x"}}}), InternalError);
}

TEST(ConfigTable, IsReadAndWrittenByTheDescribedKeys) {
  FieldTable table = {{"rate", 1}};
  EXPECT_EQ(to_toml(kept_in(table)), "rate = 1.0\nkind = \"linear\"\ntags = []\nis_on = false\n");
  apply_toml_text(kept_in(table), "size = 8\ntags = ['a', 'b']", "r.toml");
  EXPECT_EQ(taken(table).size, 8);
  EXPECT_EQ(taken(table).tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(taken(table).rate, 1.0);
  EXPECT_THROW(apply_toml_text(kept_in(table), "size = 0", "r.toml"), ConfigError);
}

TEST(ConfigTable, KnowsWhatIsEmpty) {
  for (const FieldValue& value : {FieldValue(false), FieldValue(""), FieldValue(std::optional<double>()),
                                  FieldValue(std::vector<std::string>())})
    EXPECT_TRUE(is_empty(value)) << value.index();
  for (const FieldValue& value : {FieldValue(true), FieldValue("x"), FieldValue(0), FieldValue(0.0),
                                  FieldValue(std::optional<int64_t>(0))})
    EXPECT_FALSE(is_empty(value)) << value.index();
}

}  // namespace
}  // namespace cohort
