// JSON Schema: the frozen pairs (tools/make_golden/json_schema.py), exact numbers, refusals by name, limits.
#include <gtest/gtest.h>

#include <fstream>

#include "libs/common/str.h"
#include "libs/json_schema/internal/pattern.h"
#include "libs/json_schema/schema.h"
#include "tests/core/test_files.h"

namespace cohort {
namespace {

using json_schema::Decimal;

json_schema::Value value_of(const std::string& text) {
  std::string fault;
  auto value = json_schema::read_value(text, fault);
  EXPECT_TRUE(value) << text << ": " << fault;
  return value.value_or(json_schema::Value{.members = {}});
}

std::string fault_of(const std::string& text) {
  std::string fault = "none";
  json_schema::read_value(text, fault);
  return fault;
}

/// "valid", or what is wrong.
std::string check(const std::string& schema, const std::string& instance) {
  const json_schema::Schema compiled(value_of(schema));
  return find_fault(compiled, value_of(instance)).value_or("valid");
}

std::string refusal(const std::string& schema) {
  return message_of<json_schema::SchemaError>([&] { json_schema::Schema compiled(value_of(schema)); });
}

#define EXPECT_PART(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(JsonSchema, AgreesWithTheGoldenPairs) {
  int64_t num_pairs = 0, num_valid = 0;
  std::ifstream file(COHORT_SOURCE_DIR "/tests/libs/json_schema/golden/json_schema.jsonl");
  for (std::string line; std::getline(file, line);) {
    const json_schema::Value row = value_of(line);
    const json_schema::Schema schema(*row.find("schema"));
    for (const json_schema::Value& pair : row.find("cases")->items) {
      const auto fault = find_fault(schema, value_of(pair.items[0].text));
      EXPECT_EQ(!fault, pair.items[1].boolean) << line << " " << fault.value_or("valid");
      ++num_pairs;
      num_valid += pair.items[1].boolean;
    }
  }
  EXPECT_GE(num_pairs, 1500);
  EXPECT_GE(num_valid, 300);
}

Decimal decimal(const std::string& text) { return json_schema::read_decimal(text).value(); }

TEST(JsonSchema, NumbersAreExact) {
  EXPECT_EQ(decimal("1.0"), decimal("1"));
  EXPECT_EQ(decimal("-0.0"), decimal("0"));
  EXPECT_EQ(decimal("1500e-2"), decimal("15"));
  EXPECT_EQ(decimal("1E+3"), decimal("1000"));
  EXPECT_NE(decimal("10000000000000000000000001"), decimal("10000000000000000000000000"));
  const char* ascending[] = {"-1e3", "-12", "-2", "-1.5", "0",  "1e-9", "0.1",
                             "0.11", "1",   "2",  "10",   "11", "1e300"};
  for (const char* left : ascending) {
    for (const char* right : ascending) {
      EXPECT_EQ(compare(decimal(left), decimal(right)) < 0, std::stod(left) < std::stod(right))
          << left << right;
    }
  }
  EXPECT_TRUE(is_multiple(decimal("0.3"), decimal("0.1")));
  EXPECT_FALSE(is_multiple(decimal("1e100000"), decimal("7e99999")));
  EXPECT_TRUE(is_multiple(decimal("1e100000"), decimal("8")));
  EXPECT_FALSE(is_multiple(decimal("10000000000000000000000000000001"), decimal("10")));
  EXPECT_FALSE(is_multiple(decimal("0.25"), decimal("0.1")));
  EXPECT_FALSE(json_schema::read_decimal("1e1000000"));
  EXPECT_FALSE(json_schema::read_decimal(std::string(1001, '9')));
}

TEST(JsonSchema, ReadsJsonAndNothingElse) {
  EXPECT_EQ(value_of("\"\\u00e9\\ud83d\\ude00\\n\"").text, "é😀\n");
  EXPECT_EQ(fault_of(" {\"a\": [1, -2.5e3, true, null]} "), "none");
  for (const char* text :
       {"",         "{",   "[1,]",        "{\"a\" 1}", "{'a': 1}", "01",      "1.",          ".5",
        "+1",       "1e",  "NaN",         "tru",       "[1] 2",    "\"\\x\"", "\"\\ud800\"", "\"\\ude00\"",
        "\"a\nb\"", "\"a", "{\"a\": 1,}", "\xff",      "\"\xc3\"", "// c\n1"}) {
    EXPECT_NE(fault_of(text), "none") << text;
  }
  EXPECT_PART(fault_of("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}"), "the key \"c\" comes twice");
  EXPECT_EQ(fault_of(std::string(100, '[') + std::string(100, ']')), "none");
  EXPECT_PART(fault_of(std::string(101, '[') + std::string(101, ']')), "deeper than 100");
  EXPECT_PART(fault_of(std::string(1'000'000, '[')), "deeper");
  EXPECT_PART(fault_of(std::string(2'000'000, '1')), "bytes");
}

TEST(JsonSchema, NamesTheFirstFaultByItsPointer) {
  const std::string schema =
      R"({"properties": {"a/b": {"items": {"properties": {"~c": {"type": "string"}}}}}})";
  EXPECT_EQ(check(schema, R"({"a/b": [{}, {"~c": 3}]})"), "at \"/a~1b/1/~0c\": 3 is not of type string");
  EXPECT_EQ(check(R"({"required": ["x"]})", "{}"), "at \"\": has no \"x\"");
  EXPECT_EQ(check(R"({"minItems": 2})", "[1]"), "at \"\": 1 items, fewer than minItems 2");
  EXPECT_PART(check(R"({"anyOf": [{"type": "null"}, {"minimum": 5}]})", "3"),
              "none of the 2 schemas of anyOf");
  EXPECT_PART(check(R"({"oneOf": [true, true]})", "3"), "2 of the 2 schemas of oneOf");
  EXPECT_PART(check(R"({"additionalProperties": false})", R"({"x": [1]})"),
              "at \"/x\": an array of 1 is not allowed");
}

TEST(JsonSchema, RefusesByName) {
  EXPECT_PART(refusal(R"({"properties": {"a": {"minLenght": 3}}})"),
              "unknown keyword \"minLenght\"; did you mean \"minLength\"");
  EXPECT_PART(refusal(R"({"properties": {"a": {"minLenght": 3}}})"), "/properties/a");
  EXPECT_PART(refusal(R"({"nullable": true})"), "nullable");
  EXPECT_PART(refusal(R"({"$dynamicRef": "#x"})"), "$dynamicRef");
  EXPECT_PART(refusal(R"({"$defs": {"unused": {"frobnicate": 1}}})"), "frobnicate");
  EXPECT_PART(refusal(R"({"$schema": "http://json-schema.org/draft-04/schema#"})"), "draft-04");
  EXPECT_PART(refusal(R"({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [{}]})"),
              "prefixItems");
  EXPECT_PART(refusal(R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "items": [{}]})"),
              "items");
  EXPECT_PART(refusal(R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "dependencies": {}})"),
              "dependencies");
  EXPECT_PART(refusal(R"({"$schema": "http://json-schema.org/draft-07/schema", "definitions": {"a": {}},
                          "properties": {"x": {"$ref": "#/definitions/a", "minimum": 3}}})"),
              "minimum");
  EXPECT_PART(refusal(R"({"then": {}})"), "without \"if\"");
  EXPECT_PART(refusal(R"({"minContains": 1})"), "without \"contains\"");
  EXPECT_PART(refusal(R"({"additionalItems": false})"), "additionalItems");
  EXPECT_PART(refusal(R"({"type": "strin"})"), "\"strin\"");
  EXPECT_PART(refusal(R"({"minLength": -1})"), "minLength");
  EXPECT_PART(refusal(R"({"minLength": 1.5})"), "minLength");
  EXPECT_PART(refusal(R"({"multipleOf": 0})"), "multipleOf");
  EXPECT_PART(refusal(R"({"pattern": "("})"), "pattern");
  EXPECT_PART(refusal(R"({"required": "a"})"), "required");
  EXPECT_PART(refusal(R"({"allOf": []})"), "allOf");
  EXPECT_PART(refusal(R"({"properties": {"a": 3}})"), "/properties/a");
  EXPECT_PART(refusal("3"), "an object or a boolean");
}

TEST(JsonSchema, RefusesReferencesThatLeadNowhereOrInCircles) {
  EXPECT_PART(refusal(R"({"$ref": "#/$defs/a"})"), "leads to nothing");
  EXPECT_PART(refusal(R"({"$ref": "https://example.com/other"})"), "leads out of the document");
  EXPECT_PART(refusal(R"({"$ref": "#here"})"), "#here");
  EXPECT_PART(refusal(R"({"$ref": "#"})"), "without end");
  EXPECT_PART(
      refusal(R"({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}},
                          "items": {"$ref": "#/$defs/a"}})"),
      "without end");
  EXPECT_PART(refusal(R"({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}})"), "already");
  // A long chain is no circle.
  std::string chain = R"({"$ref": "#/$defs/0", "$defs": {)";
  for (int i = 0; i < 900; ++i) chain += str("\"", i, "\": {\"$ref\": \"#/$defs/", i + 1, "\"}, ");
  EXPECT_PART(check(chain + R"("900": {"type": "null"}}})", "1"), "1 is not of type null");
}

TEST(JsonSchema, OlderNamesWorkWhereTheDialectIsLeftOpen) {
  EXPECT_PART(check(R"({"items": [{"type": "integer"}], "additionalItems": false})", "[1, 2]"), "at \"/1\"");
  EXPECT_PART(check(R"({"dependencies": {"a": ["b"]}})", R"({"a": 1})"), "has no \"b\"");
  EXPECT_EQ(check(R"({"definitions": {"a": {}}, "items": {"$ref": "#/definitions/a"}, "x-note": 1})", "[1]"),
            "valid");
}

TEST(JsonSchema, HostileInstancesEndSoon) {
  // (a|a)*[bc] on many a: exponential in a backtracking engine.
  const std::string pattern = R"({"items": {"pattern": "^(a|a)*[bc]$"}})";
  EXPECT_PART(check(pattern, "[\"" + std::string(40, 'a') + "\"]"), "too many steps");
  // 2^40 ways through references.
  std::string doubling = R"({"$ref": "#/$defs/0", "$defs": {)";
  for (int i = 0; i < 40; ++i)
    doubling += str("\"", i, R"(": {"anyOf": [{"$ref": "#/$defs/)", i + 1, R"("}, {"$ref": "#/$defs/)", i + 1,
                    R"("}]}, )");
  EXPECT_PART(check(doubling + R"("40": {"type": "null"}}})", "1"), "steps");
  // 100,000 items that differ.
  std::string many = "[0";
  for (int i = 1; i < 100'000; ++i) many += str(",", i);
  EXPECT_EQ(check(R"({"uniqueItems": true})", many + "]"), "valid");
  EXPECT_PART(check(R"({"uniqueItems": true})", many + ",7.0]"), "items 7 and 100000 are equal");
  const std::string recursive = R"({"properties": {"a": {"$ref": "#"}}, "items": {"$ref": "#"}})";
  EXPECT_EQ(check(recursive, std::string(100, '[') + std::string(100, ']')), "valid");
}

TEST(JsonSchema, PatternsAreEcmas) {
  const auto body = [](const char* pattern) {
    const std::string text = json_schema::to_pcre2(pattern);
    return text.substr(text.find(')', text.find("(?-m")) + 1);
  };
  EXPECT_EQ(body("^a$"), "^a\\z");
  EXPECT_EQ(body("\\$[$]"), "\\$[$]");
  EXPECT_EQ(body("\\u00e9\\ud83d\\ude00\\u{1F600}"), "\\x{e9}\\x{1f600}\\x{1F600}");
  EXPECT_EQ(body("[[a]"), "[\\[a]");
  EXPECT_EQ(body("[]|[^]"), "(?!)|(?s:.)");
  EXPECT_EQ(body("[\\]a]"), "[\\]a]");
  EXPECT_EQ(body("a\\"), "a\\");
}

}  // namespace
}  // namespace cohort
