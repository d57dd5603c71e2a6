#include "cohort/core/time_text.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(TimeText, ReadsWhatItWrites) {
  const auto time = parse_time_text("2027-03-04T05:06:07");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->tm_year, 127);
  EXPECT_EQ(time->tm_mon, 2);
  EXPECT_EQ(time->tm_wday, 4);  // a Thursday
  EXPECT_EQ(to_time_text(*time), "2027-03-04T05:06:07");
  EXPECT_TRUE(parse_time_text(to_time_text(present_time())));
}

TEST(TimeText, RefusesWhatIsNoTime) {
  for (const char* text : {"", "2027-03-04", "2027-02-29T00:00:00", "2027-03-04T05:06:07Z",
                           "2027-03-04T24:00:00", "2027-13-04T05:06:07", "today"}) {
    EXPECT_FALSE(parse_time_text(text)) << text;
  }
}

}  // namespace
}  // namespace cohort
