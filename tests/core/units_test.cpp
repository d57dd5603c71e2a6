#include "cohort/core/units.h"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(FormatDuration, ChoosesTwoUnits) {
  EXPECT_EQ(format_duration(12.4), "12 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(3725), "1 h 02 min");
  EXPECT_EQ(format_duration(-1), "0 s");
}

TEST(FormatBytes, ChoosesAUnit) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1023), "1023 bytes");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(int64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(format_bytes(int64_t{5000} << 40), "5000.0 TiB");
}

}  // namespace
}  // namespace cohort
