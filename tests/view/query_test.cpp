#include "cohort/view/query.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

/// Status and message of the RequestError that f throws; 0 if it throws none.
template <typename F>
std::pair<int, std::string> error_of(F f) {
  try {
    f();
  } catch (const RequestError& error) {
    return {error.status(), error.what()};
  }
  return {0, ""};
}

TEST(Query, DecodesParameters) {
  const Query query("run=0&text=a%20b+c%26%3d&name=x&name=y&flag&&empty=");
  EXPECT_EQ(query.text("text"), "a b c&=");
  EXPECT_EQ(query.texts("name"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(query.text("name"), "y");
  EXPECT_EQ(query.text("flag"), "");
  EXPECT_EQ(query.text("empty"), "");
  EXPECT_FALSE(query.text("nothing").has_value());
  EXPECT_FALSE(Query("").text("").has_value());
}

TEST(Query, KeepsUnicodeAndRefusesWhatIsNone) {
  EXPECT_EQ(Query("t=%E2%80%AE%C3%A9").text("t"), "\u202e\u00e9");
  EXPECT_EQ(Query("t=%00").text("t"), std::string(1, '\0'));
  for (const char* bad : {"t=%", "t=%4", "t=%4g", "t=%ff", "%C3=1", "t=%ED%A0%80"})
    EXPECT_EQ(error_of([&] { const Query query(bad); }).first, 400) << bad;
}

TEST(Query, ReadsNumbersAndNamesWhatIsWrong) {
  const Query query("a=12&b=-0.5&c=1e3&d=x&e=1.5&f=nan&g=&h=99999999999999999999&i=1e999");
  EXPECT_EQ(query.integer("a", 0, 20), 12);
  EXPECT_EQ(query.number("b"), -0.5);
  EXPECT_EQ(query.number("c"), 1000.0);
  EXPECT_FALSE(query.integer("missing", 0, 1).has_value());
  const auto [status, message] = error_of([&] { query.integer("d", 0, 20); });
  EXPECT_EQ(status, 400);
  EXPECT_EQ(message, "parameter d is \"x\"; give an integer from 0 to 20");
  EXPECT_EQ(error_of([&] { query.integer("a", 13, 20); }).first, 400);
  for (const char* name : {"e", "g", "h"})
    EXPECT_EQ(error_of([&] { query.integer(name, 0, 20); }).first, 400) << name;
  for (const char* name : {"d", "f", "g", "i"})
    EXPECT_EQ(error_of([&] { query.number(name); }).first, 400) << name;
}

TEST(Query, ReadsFlags) {
  const Query query("a=1&b=0&c=true&d=false&e=yes");
  EXPECT_TRUE(query.flag("a"));
  EXPECT_FALSE(query.flag("b"));
  EXPECT_TRUE(query.flag("c"));
  EXPECT_FALSE(query.flag("d"));
  EXPECT_FALSE(query.flag("missing"));
  EXPECT_EQ(error_of([&] { query.flag("e"); }).first, 400);
}

TEST(Query, NamesUnknownParameters) {
  EXPECT_EQ(error_of([] { Query("run=0&token=t").check_known({"run"}); }).first, 0);
  const auto [status, message] = error_of([] { Query("stpe=1").check_known({"run", "step"}); });
  EXPECT_EQ(status, 400);
  EXPECT_EQ(message, "unknown parameter \"stpe\"; the nearest is \"step\"");
}

}  // namespace
}  // namespace cohort
