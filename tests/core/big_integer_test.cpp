// Integers of any size, and JSON that holds them. Expected values are Python's.
#include "cohort/core/big_integer.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"

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

TEST(ExactJson, RowsKeepTheDigitsOfIntegers) {
  const std::string digits(400, '7');
  const std::string line = R"({"a":[18446744073709551615,18446744073709551616,-9223372036854775809],"b":")" +
                           digits + R"(","c":)" + digits + R"(,"d":1e25,"e":-)" + digits + "}";
  const Json row = parse_json_line(line, "rows.jsonl", 1);
  EXPECT_TRUE(row["a"][0].is_number_unsigned());
  EXPECT_TRUE(is_long_integer(row["a"][1]) && is_long_integer(row["a"][2]) && is_long_integer(row["c"]));
  EXPECT_EQ(long_integer_digits(row["e"]), "-" + digits);
  EXPECT_TRUE(row["d"].is_number_float());
  EXPECT_EQ(to_json_text(parse_json_line(to_json_text(row), "rows.jsonl", 1)), to_json_text(row));
  EXPECT_EQ(to_json_text(row).find("bytes"), std::string::npos);
  EXPECT_EQ(to_json_text(row.at("a"), 2),
            "[\n  18446744073709551615,\n  18446744073709551616,\n  -9223372036854775809\n]");
  EXPECT_EQ(to_json_text(Json{{"x", {}}, {"y", {{"z", row["c"]}}}}, 2),
            "{\n  \"x\": null,\n  \"y\": {\n    \"z\": " + digits + "\n  }\n}");
  EXPECT_EQ(parse_exact_json(line), row);
}

TEST(ExactJson, WhatLooksLikeAHiddenIntegerIsItself) {
  const std::string line = R"([0e-0000000000000000, 123456789012345678901234, 0e-000000000000000000000])";
  const Json row = parse_json_line(line, "rows.jsonl", 1);
  EXPECT_EQ(row[0], 0.0);
  EXPECT_EQ(long_integer_digits(row[1]), "123456789012345678901234");
  // Errors keep their places.
  const std::string broken = R"([123456789012345678901234, x])";
  try {
    parse_json_line(broken, "rows.jsonl", 3);
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("rows.jsonl:3: malformed JSON at byte 28"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(parse_exact_json("01234567890123456789012").is_discarded());
  EXPECT_TRUE(parse_exact_json("[1").is_discarded());
}

}  // namespace
}  // namespace cohort
