#include "cohort/text/grammar/grammar.h"

#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/text/grammar/json_schema.h"
#include "cohort/text/grammar/recognizer.h"
#include "cohort/text/grammar/regex.h"

namespace cohort {
namespace {

std::bitset<256> all_bytes() { return std::bitset<256>().set(); }

std::bitset<256> bytes_of(std::string_view text) {
  std::bitset<256> bytes;
  for (const char c : text) bytes.set(static_cast<unsigned char>(c));
  return bytes;
}

Recognizer of_regex(std::string_view pattern) {
  Grammar grammar;
  add_regex(grammar, grammar.begin(0), pattern, grammar.end(0));
  return {grammar, all_bytes()};
}

Recognizer of_schema(const char* schema) {
  const Json document = Json::parse(schema);
  Grammar grammar;
  JsonSchemaGrammar(grammar, document).add(grammar.begin(0), grammar.end(0));
  return {grammar, all_bytes()};
}

bool accepts(Recognizer& recognizer, std::string_view text) {
  Recognizer::Position position = recognizer.begin();
  for (const char c : text) {
    position = recognizer.next(position, static_cast<unsigned char>(c));
    if (position == Recognizer::kDead) return false;
  }
  return recognizer.may_end(position);
}

struct Case {
  const char* language;
  std::vector<std::string> members;
  std::vector<std::string> others;
};

TEST(Grammar, RegularExpressions) {
  const std::vector<Case> cases = {
      {"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
      {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
      {"^(yes|no)\\.$", {"yes.", "no."}, {"yes", "yes!", "yesno."}},
      {"a{2,3}b*c+d?", {"aac", "aaabbccd"}, {"ac", "aaaac", "aad", "aacdd"}},
      {"(ab){2}", {"abab"}, {"ab", "ababab"}},
      {"a{,2}", {"", "a", "aa"}, {"aaa"}},
      {"x{y}", {"x{y}"}, {"xy"}},
      {"[A-Ca-]+", {"AB-a", "C"}, {"D", "b", ""}},
      {"[^a\\]]", {"b", "\xC3\xA9", "\xF0\x9F\x98\x80", "\n"}, {"a", "]", "\xC3", "bb"}},
      {"\\d\\w\\s", {"1_ ", "0z\t"}, {"a_ ", "1- ", "1zz"}},
      {".", {"a", "\xE2\x82\xAC"}, {"\n", "", "\xE2\x82"}},
      {"[\\u00e0-\\u20ac]",
       {"\xC3\xA0", "\xDF\xBF", "\xE0\xA0\x80", "\xE2\x82\xAC"},
       {"\xC3\x9F", "\xE2\x82\xAD", "a"}},
      {"(?:a(?P<n>b)?)+?", {"a", "abab"}, {"b", ""}},
      {"\\x41\\n\\.\\\\", {"A\n.\\"}, {"A\nx\\"}},
      {"(a*)*b", {"b", "aaab"}, {"a"}},
  };
  for (const Case& each : cases) {
    Recognizer recognizer = of_regex(each.language);
    for (const std::string& text : each.members)
      EXPECT_TRUE(accepts(recognizer, text)) << each.language << ' ' << text;
    for (const std::string& text : each.others)
      EXPECT_FALSE(accepts(recognizer, text)) << each.language << ' ' << text;
  }
}

TEST(Grammar, RefusesWhatARegularExpressionCannotSay) {
  for (const char* pattern : {"(a", "a)", "[a", "a(?=b)", "(?i)a", "\\1", "\\bword", "a^b", "a$b", "*a",
                              "a{3,2}", "a{2000}", "[z-a]", "\\", "\\x4", "a++", "(a{1000}){1000}"})
    EXPECT_THROW(of_regex(pattern), UserError) << pattern;
}

TEST(Grammar, SchemasOfJson) {
  const std::vector<Case> cases = {
      {R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"},
           "c": {"type": "null"}}, "required": ["b"]})",
       {R"({"a": 1, "b": true, "c": null})", R"({"b":false})", "{\n  \"b\": true\n}",
        R"({"a": -20, "b": true})"},
       {"{}", R"({"a": 1})", R"({"b": true, "a": 1})", R"({"b": true,})", R"({,"b": true})",
        R"({"b": true, "d": 1})"}},
      {R"({"type": "array", "items": {"enum": ["x", 1, null, {"k": [1]}]}, "minItems": 1, "maxItems": 2})",
       {R"(["x"])", R"([1, null])", R"([{"k":[1]}])"},
       {"[]", "[1, 1, 1]", "[2]", "[1,]"}},
      {R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": false})",
       {"[]", "[1]", "[1, true]"},
       {"[true]", "[1, true, 1]"}},
      {R"({"type": "array", "items": {"type": "integer"}, "minItems": 2})",
       {"[1, 2]", "[1, 2, 3, 4]"},
       {"[1]", "[]"}},
      {R"({"type": "string"})",
       {R"("")", R"("a\"\\\n\u00e9")", "\"\xC3\xA9\""},
       {"\"\n\"", R"("\x")", R"("\ud800")", R"(")", R"("a"b)"}},
      {R"({"type": "string", "minLength": 2, "maxLength": 3})",
       {R"("ab")", R"("\n\"c")", "\"\xC3\xA9\xC3\xA9\""},
       {R"("a")", R"("abcd")"}},
      {R"({"type": "string", "pattern": "^a\"b"})", {R"("a\"b")", R"("a\"bxx")"}, {R"("a"b")", R"("xa\"b")"}},
      {R"({"type": "string", "pattern": "b$"})", {R"("b")", R"("aab")"}, {R"("ba")"}},
      {R"({"type": "string", "format": "date"})", {R"("2026-11-27")"}, {R"("2026-13-01")", R"("26-1-1")"}},
      {R"({"type": "number"})", {"0", "-1.5", "12e+3", "1.0"}, {"01", "1.", ".5", "+1", "-"}},
      {R"({"type": ["integer", "null"]})", {"7", "null"}, {"7.5", "true"}},
      {R"({"anyOf": [{"type": "integer"}, {"const": "a"}]})", {"1", R"("a")"}, {R"("b")"}},
      {R"({"type": "object", "additionalProperties": {"type": "integer"}})",
       {"{}", R"({"x": 1, "y": 2})"},
       {R"({"x": "1"})"}},
      {R"({"type": "object", "properties": {"ab": {"type": "null"}}, "additionalProperties": {"type": "integer"}})",
       {R"({"ab": null, "a": 1})", R"({"abc": 1, "": 2})"},
       {R"({"ab": 1})", R"({"a": null})"}},
      {R"({"type": "object"})", {"{}", R"({"a": [1, {"b": "c"}, null, 1.5e3]})"}, {"[]", R"({"a" 1})"}},
      {R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"left":
           {"$ref": "#/$defs/tree"}, "value": {"type": "integer"}}, "required": ["value"]}}})",
       {R"({"value": 1})", R"({"left": {"left": {"value": 1}, "value": 2}, "value": 3})"},
       {R"({"left": {}, "value": 1})", R"({"left": {"value": 1})"}},
      {"true", {"1", "[[], {}]", R"("x")"}, {"", "x"}},
  };
  for (const Case& each : cases) {
    Recognizer recognizer = of_schema(each.language);
    for (const std::string& text : each.members)
      EXPECT_TRUE(accepts(recognizer, text)) << each.language << ' ' << text;
    for (const std::string& text : each.others)
      EXPECT_FALSE(accepts(recognizer, text)) << each.language << ' ' << text;
  }
}

/// Every whole number near the bounds, and numbers with a fraction beside them.
TEST(Grammar, BoundsOfNumbers) {
  const std::vector<std::pair<int, int>> ranges = {{0, 0},     {3, 9},     {7, 123}, {-5, 5},
                                                   {-120, -9}, {-1, 1000}, {99, 101}};
  for (const auto& [least, most] : ranges) {
    for (const bool is_exclusive : {false, true}) {
      if (is_exclusive && most - least < 2) continue;
      const std::string bounds =
          is_exclusive ? str(R"("exclusiveMinimum": )", least, R"(, "exclusiveMaximum": )", most)
                       : str(R"("minimum": )", least, R"(, "maximum": )", most);
      Recognizer integers = of_schema(str(R"({"type": "integer", )", bounds, "}").c_str());
      Recognizer numbers = of_schema(str(R"({"type": "number", )", bounds, "}").c_str());
      const auto is_within = [&](double x) {
        return is_exclusive ? least < x && x < most : least <= x && x <= most;
      };
      for (int i = -1100; i <= 1100; ++i) {
        EXPECT_EQ(accepts(integers, std::to_string(i)), is_within(i)) << bounds << ' ' << i;
        EXPECT_EQ(accepts(numbers, std::to_string(i)), is_within(i)) << bounds << ' ' << i;
        for (const char* part : {".0", ".5", ".05"}) {
          const std::string text = std::to_string(i) + part;
          EXPECT_EQ(accepts(numbers, text), is_within(std::stod(text))) << bounds << ' ' << text;
          EXPECT_FALSE(accepts(integers, text));
        }
      }
    }
  }
  Recognizer open = of_schema(R"({"type": "integer", "exclusiveMinimum": 98})");
  EXPECT_TRUE(accepts(open, "99") && accepts(open, "9999999999999999"));
  EXPECT_FALSE(accepts(open, "98") || accepts(open, "-99") || accepts(open, "099"));
}

TEST(Grammar, RefusesSchemasThatItCannotHoldAModelTo) {
  for (const char* schema :
       {R"({"type": "array", "uniqueItems": true})", R"({"type": "thing"})", "false", "3", R"({"enum": []})",
        R"({"allOf": [{"type": "null"}, {"type": "null"}]})", R"({"$ref": "#/$defs/x"})",
        R"({"$ref": "x.json"})", R"({"type": "integer", "minimum": 5, "maximum": 4})",
        R"({"type": "number", "minimum": 0.5})", R"({"type": "string", "minLength": 3, "maxLength": 2})",
        R"({"type": "string", "minLength": 1, "pattern": "a"})", R"({"properties": {}, "required": ["a"]})",
        R"({"type": "integer", "multipleOf": 3})",
        R"({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})"})
    EXPECT_THROW(of_schema(schema), UserError) << schema;
}

TEST(Grammar, RefusesARuleThatCallsItselfFirst) {
  Grammar grammar;
  const auto begin = grammar.begin(0), end = grammar.end(0), called = grammar.add_state();
  grammar.add_text(begin, "a", end);
  grammar.add_call(begin, 0, called);
  grammar.add_text(called, "b", end);
  EXPECT_THROW(Recognizer(grammar, all_bytes()), UserError);
}

TEST(Grammar, RefusesDeepChainsOfReferences) {
  Json schema = {{"$ref", "#/$defs/0"}};
  for (int i = 0; i < 10'000; ++i)
    schema["$defs"][std::to_string(i)] = {{"type", "array"}, {"items", {{"$ref", str("#/$defs/", i + 1)}}}};
  schema["$defs"]["10000"] = {{"type", "null"}};
  EXPECT_THROW(of_schema(to_json_text(schema).c_str()), UserError);
}

TEST(Grammar, LeavesOutWhatTheBytesCannotWrite) {
  Grammar grammar;
  add_regex(grammar, grammar.begin(0), "a(bx|c)?|dx", grammar.end(0));
  Recognizer recognizer(grammar, bytes_of("abcd"));
  EXPECT_TRUE(accepts(recognizer, "a") && accepts(recognizer, "ac"));
  const auto after = recognizer.next(recognizer.begin(), 'a');
  EXPECT_EQ(recognizer.next(after, 'b'), Recognizer::kDead);  // what follows would need an x
  EXPECT_EQ(recognizer.next(recognizer.begin(), 'd'), Recognizer::kDead);
  EXPECT_THROW(Recognizer(grammar, std::bitset<256>()), UserError);
}

/// The called rule can be written, and what follows the call cannot.
TEST(Grammar, LeavesOutCallsThatReturnToADeadEnd) {
  Grammar grammar;
  const auto rule = grammar.add_rule();
  grammar.add_text(grammar.begin(rule), "b", grammar.end(rule));
  const auto called = grammar.add_state(), returned = grammar.add_state();
  grammar.add_text(grammar.begin(0), "a", called);
  grammar.add_call(called, rule, returned);
  grammar.add_text(returned, "x", grammar.end(0));
  grammar.add_text(called, "c", grammar.end(0));
  Recognizer recognizer(grammar, bytes_of("abc"));
  const auto after = recognizer.next(recognizer.begin(), 'a');
  EXPECT_EQ(recognizer.next(after, 'b'), Recognizer::kDead);
  EXPECT_NE(recognizer.next(after, 'c'), Recognizer::kDead);
}

TEST(Grammar, ForgetsAndFindsItsPlaces) {
  Recognizer recognizer = of_schema(R"({"type": "array", "items": {"type": "array", "items": true}})");
  Recognizer::Position position = recognizer.begin();
  for (const char c : std::string("[[1, [")) position = recognizer.next(position, c);
  const auto places = recognizer.places(position);
  recognizer.forget();
  EXPECT_EQ(recognizer.num_positions(), 1);
  position = recognizer.find(*places);
  for (const char c : std::string("]]]")) {
    EXPECT_FALSE(recognizer.may_end(position));
    position = recognizer.next(position, c);
  }
  EXPECT_TRUE(recognizer.may_end(position));
  EXPECT_FALSE(recognizer.may_continue(position));
}

}  // namespace
}  // namespace cohort
