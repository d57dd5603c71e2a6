// Integers of any size. Expected values are Python's.
#include "libs/common/big_integer.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace cohort {
namespace {

BigInteger big(const char* digits) { return *BigInteger::parse(digits); }

TEST(BigInteger, ReadsAndWritesEveryBase) {
  EXPECT_EQ(big("-123456789012345678901234567890").text(), "-123456789012345678901234567890");
  EXPECT_EQ(big("+00012").text(), "12");
  EXPECT_EQ(big("-0").text(), "0");
  EXPECT_FALSE(big("-0").is_negative());
  EXPECT_EQ(big("100000000000000000000").text(16), "56bc75e2d63100000");
  EXPECT_EQ(BigInteger::parse("FFFFFFFFFFFFFFFFFF", 16)->text(), "4722366482869645213695");
  for (const char* other : {"", "-", "1x", "1.0", "--1", " 1"})
    EXPECT_FALSE(BigInteger::parse(other)) << other;
}

TEST(BigInteger, ComputesAsPython) {
  const BigInteger a = big("123456789012345678901234567890"), b = big("-987654321098765432109");
  EXPECT_EQ((a + b).text(), "123456788024691357802469135781");
  EXPECT_EQ((a - b).text(), "123456789999999999999999999999");
  EXPECT_EQ((a * b).text(), "-121932631137021795226076817523485749121223746380010");
  EXPECT_EQ((a - a).text(), "0");
}

TEST(BigInteger, DividesRoundingDown) {
  for (const auto& [left, right, quotient, remainder] : std::vector<std::array<const char*, 4>>{
           {"7", "2", "3", "1"},
           {"-7", "2", "-4", "1"},
           {"7", "-2", "-4", "-1"},
           {"-7", "-2", "3", "-1"},
           {"100000000000000000000", "3", "33333333333333333333", "1"},
           {"-100000000000000000000", "30000000000", "-3333333334", "20000000000"}}) {
    const auto [whole, rest] = BigInteger::divide(big(left), big(right));
    EXPECT_EQ(whole.text(), quotient) << left << " / " << right;
    EXPECT_EQ(rest.text(), remainder) << left << " / " << right;
  }
}

TEST(BigInteger, ComparesAndConverts) {
  EXPECT_EQ(BigInteger::compare(big("-10000000000000000000"), big("5")), -1);
  EXPECT_EQ(BigInteger::compare(big("-10000000000000000001"), big("-10000000000000000000")), -1);
  EXPECT_EQ(BigInteger::compare(big("10000000000000000000"), big("10000000000000000000")), 0);
  EXPECT_EQ(big("-9223372036854775808").to_int64(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(BigInteger(std::numeric_limits<int64_t>::min()).text(), "-9223372036854775808");
  EXPECT_FALSE(big("9223372036854775808").to_int64());
  EXPECT_EQ(big("100000000000000000000").to_double(), 1e20);
  EXPECT_EQ(BigInteger::truncated(-1e20).text(), "-100000000000000000000");
  EXPECT_EQ(BigInteger::truncated(2.9).text(), "2");
  EXPECT_EQ(BigInteger::truncated(1e23).text(), "99999999999999991611392");
}

}  // namespace
}  // namespace cohort
