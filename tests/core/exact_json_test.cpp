// JSON that holds integers beyond 64 bits.
#include "cohort/core/exact_json.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "libs/common/long_integers.h"

namespace cohort {
namespace {

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
