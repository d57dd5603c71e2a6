#include <gtest/gtest.h>

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "cohort/text/tool_calls/format.h"
#include "cohort/text/tool_calls/literal_reader.h"

namespace cohort {
namespace {

AssistantMessage parse(const std::string& format, const std::string& text, const Json& tools = nullptr) {
  return parse_turn(find_tool_call_format(format), text, tools);
}

/// Each call as name(arguments), or as "! error".
std::vector<std::string> calls(const AssistantMessage& message) {
  std::vector<std::string> result;
  for (const ToolCall& call : message.tool_calls)
    result.push_back(call.error.empty() ? call.name + to_lenient_json_text(call.arguments)
                                        : "! " + call.error);
  return result;
}

std::vector<std::string> calls(const std::string& format, const std::string& text,
                               const Json& tools = nullptr) {
  return calls(parse(format, text, tools));
}

using Texts = std::vector<std::string>;

const Json kTools = Json::parse(R"([{"type": "function", "function": {"name": "add", "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["number", "null"]},
    "text": {"type": "string"}, "flag": {"type": "boolean"}, "list": {"type": "array"},
    "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}}}}])");

TEST(ToolCalls, HermesTakesObjectsListsAndWhatSurroundsThem) {
  const AssistantMessage message = parse("hermes",
                                         "<think>\nadd them\n</think>\n\nLet me see.\n<tool_call>\n"
                                         R"({"name": "add", "arguments": {"a": 1, "b": [2.5, "x"]}})"
                                         "\n</tool_call>\n<tool_call>[{\"name\": \"f\"}, {\"name\": \"g\", "
                                         "\"arguments\": {}}]</tool_call>");
  EXPECT_EQ(message.reasoning_content, "add them");
  EXPECT_EQ(message.content, "Let me see.");
  EXPECT_EQ(calls(message), (Texts{R"(add{"a":1,"b":[2.5,"x"]})", "f{}", "g{}"}));
}

TEST(ToolCalls, HermesExplainsWhatItCannotRead) {
  EXPECT_EQ(calls("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}</tool_call>").size(), 1);
  EXPECT_EQ(calls("hermes", "<tool_call>{\"name\": \"f\"").front(),
            "! the tool call does not end with </tool_call>");
  EXPECT_EQ(calls("hermes", "<tool_call>7</tool_call>").front(),
            "! a tool call must be a JSON object with \"name\" and \"arguments\"");
  EXPECT_EQ(calls("hermes", "<tool_call>{\"arguments\": {}}</tool_call>").front(),
            "! a tool call needs \"name\", a string");
  EXPECT_EQ(calls("hermes", "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>").front(),
            "! \"arguments\" of a tool call must be a JSON object");
  EXPECT_TRUE(calls("hermes", "<tool_call>{\"name\": }</tool_call>")
                  .front()
                  .starts_with("! a tool call must be JSON: malformed at byte 10: "));
  // One bad call does not take the others along.
  EXPECT_EQ(calls("hermes", "<tool_call>{</tool_call><tool_call>{\"name\": \"f\"}</tool_call>")[1], "f{}");
}

TEST(ToolCalls, ArgumentsMayBeTextOfJsonAndLongIntegersKeepTheirDigits) {
  EXPECT_EQ(calls("hermes", R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)"),
            Texts{R"(f{"a":1})"});
  EXPECT_EQ(
      calls("hermes",
            R"(<tool_call>{"name": "f", "arguments": {"n": 123456789012345678901234567890}}</tool_call>)"),
      Texts{R"(f{"n":123456789012345678901234567890})"});
  EXPECT_EQ(
      calls(
          "hermes",
          R"(<tool_call>{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}</tool_call>)"),
      Texts{"f{}"});
}

TEST(ToolCalls, ReasoningMayBeOpenedByThePromptAndMayNotEnd) {
  EXPECT_EQ(parse("hermes", "I add.</think>\nThe sum").reasoning_content, "I add.");
  EXPECT_EQ(parse("hermes", "I add.</think>\nThe sum").content, "The sum");
  EXPECT_EQ(parse("hermes", "<think>\nI add").reasoning_content, "I add");
  EXPECT_EQ(parse("hermes", "<think>\nI add").content, "");
  EXPECT_EQ(parse("hermes", "so <think> a </think> b").content, "so <think> a </think> b");
  EXPECT_EQ(parse("hermes", " plain text \n").content, " plain text \n");
  EXPECT_EQ(parse("mistral", "[THINK]sum[/THINK]4").reasoning_content, "sum");
  EXPECT_EQ(parse("llama3", "<think>a</think>b").content, "<think>a</think>b");
}

TEST(ToolCalls, QwenXmlReadsTextsByTheirSchema) {
  const std::string text =
      "<tool_call>\n<function=add>\n<parameter=a>\n7\n</parameter>\n<parameter=b>\nnull\n</parameter>\n"
      "<parameter=text>\n  indented\nlines \n</parameter>\n<parameter=flag>\nTrue\n</parameter>\n"
      "<parameter=list>\n[1, \"2\"]\n</parameter>\n<parameter=either>\n8\n</parameter>\n"
      "<parameter=other>\n9\n</parameter>\n</function>\n</tool_call>";
  EXPECT_EQ(
      calls("qwen_xml", text, kTools),
      Texts{
          R"(add{"a":7,"b":null,"text":"  indented\nlines ","flag":true,"list":[1,"2"],"either":8,"other":"9"})"});
  EXPECT_EQ(calls("qwen_xml", text).front().substr(0, 12), R"(add{"a":"7",)");
  // What does not have its type stays a text, and the tool says so.
  EXPECT_EQ(
      calls("qwen_xml", "<tool_call><function=add><parameter=a>x</parameter></function></tool_call>", kTools),
      Texts{R"(add{"a":"x"})"});
}

TEST(ToolCalls, QwenXmlExplainsWhatItCannotRead) {
  const auto error = [](const std::string& inside) {
    return calls("qwen_xml", "<tool_call>" + inside + "</tool_call>").front();
  };
  EXPECT_EQ(error("{\"name\": \"f\"}"), "! a tool call needs <function=name>");
  EXPECT_EQ(error("<function=f>"), "! the tool call does not end with </function>");
  EXPECT_EQ(error("<function=f><parameter=a>1</function>"),
            "! a parameter of the tool call does not end with </parameter>");
  EXPECT_EQ(error("<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>"),
            "! the tool call gives the argument \"a\" twice");
}

TEST(ToolCalls, GlmReadsKeysAndValues) {
  EXPECT_EQ(calls("glm",
                  "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>12</arg_value>\n"
                  "<arg_key>text</arg_key>\n<arg_value>12</arg_value>\n</tool_call>",
                  kTools),
            Texts{R"(add{"a":12,"text":"12"})"});
  EXPECT_EQ(calls("glm", "<tool_call>f\n</tool_call>"), Texts{"f{}"});
  EXPECT_EQ(calls("glm", "<tool_call>f<arg_key>a</arg_key></tool_call>").front(),
            "! each <arg_key> of the tool call needs one <arg_value>, and both need their end");
}

TEST(ToolCalls, Llama3ReadsBareJsonBuiltInsAndCode) {
  EXPECT_EQ(calls("llama3", R"({"name": "f", "parameters": {"a": "}"}})"), Texts{R"(f{"a":"}"})"});
  EXPECT_EQ(calls("llama3",
                  R"(<|python_tag|>{"name": "f", "parameters": {}}; {"name": "g", "parameters": {"b": 1}})"),
            (Texts{"f{}", R"(g{"b":1})"}));
  EXPECT_EQ(calls("llama3", R"x(<|python_tag|>brave_search.call(query="a \"b\"", n=3))x"),
            Texts{R"(brave_search{"query":"a \"b\"","n":3})"});
  EXPECT_EQ(calls("llama3", "<|python_tag|>print(1)"), Texts{R"x(code_interpreter{"code":"print(1)"})x"});
  EXPECT_EQ(calls("llama3", R"({"name": "Bob"} is a person)"), Texts{});
  EXPECT_EQ(calls("llama3", R"({"name": "f", "parameters": {"a": 1})").front(),
            "! the tool call does not end with }");
  EXPECT_EQ(calls("llama3", R"({"name": "f", "parameters": {}} and more)")[1],
            "! there is text after the tool call");
  EXPECT_EQ(parse("llama3", R"(I call {"name": "f", "parameters": {}})").content, "I call");
}

TEST(ToolCalls, MistralReadsBothOfItsForms) {
  EXPECT_EQ(calls("mistral",
                  R"([TOOL_CALLS][{"name": "f", "arguments": {"a": 1}, "id": "123456789"}, {"name": "g"}])"),
            (Texts{R"(f{"a":1})", "g{}"}));
  const AssistantMessage message = parse(
      "mistral", R"(Text[TOOL_CALLS]f[CALL_ID]abc[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{}[TOOL_CALLS]h{"b": 2})");
  EXPECT_EQ(message.content, "Text");
  EXPECT_EQ(message.tool_calls[0].id, "abc");
  EXPECT_EQ(calls(message), (Texts{R"(f{"a":1})", "g{}", R"(h{"b":2})"}));
  EXPECT_TRUE(calls("mistral", "[TOOL_CALLS]f[ARGS]{")
                  .front()
                  .starts_with("! the arguments of a tool call must be JSON: malformed at byte 2"));
  EXPECT_EQ(calls("mistral", "[TOOL_CALLS]").front(), "! a tool call needs the name of a tool");
}

TEST(ToolCalls, DeepSeekReadsBothOfItsForms) {
  EXPECT_EQ(
      calls("deepseek",
            "Now.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": 1}\n```"
            "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><"
            "｜tool▁calls▁end｜>"),
      (Texts{R"(f{"a":1})", "g{}"}));
  EXPECT_EQ(calls("deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>{}").front(),
            "! the tool call does not end with <｜tool▁call▁end｜>");
  EXPECT_EQ(calls("deepseek", "<｜tool▁calls▁begin｜>g({})<｜tool▁calls▁end｜>").front(),
            "! there is text between the tool calls");
}

TEST(ToolCalls, GemmaReadsItsOwnNotation) {
  EXPECT_EQ(
      calls("function_gemma",
            "<start_function_call>call:f{place:<escape>a, \"b\"}<escape>,n:5,ok:true,l:[1,<escape>x<escape>],"
            "o:{k:1.5},none:None}<end_function_call>"),
      Texts{R"(f{"place":"a, \"b\"}","n":5,"ok":true,"l":[1,"x"],"o":{"k":1.5},"none":null})"});
  EXPECT_EQ(
      parse("gemma4", "<|channel>thought\nhm\n<channel|>Text<|tool_call>call:f{a:<|\"|>x<|\"|>}<tool_call|>")
          .reasoning_content,
      "hm");
  EXPECT_EQ(calls("gemma4", "<|tool_call>call:f{a:<|\"|>x<|\"|>,b:word}<tool_call|>"),
            Texts{R"(f{"a":"x","b":"word"})"});
  EXPECT_EQ(calls("gemma4", "<|tool_call>call:f{a:<|\"|>x}<tool_call|>").front(),
            "! the arguments of a tool call are malformed at byte 9: a string does not end");
}

TEST(ToolCalls, HarmonyReadsChannels) {
  const AssistantMessage message =
      parse("harmony",
            "<|channel|>analysis<|message|>I need it.<|end|><|start|>assistant<|channel|>commentary "
            "to=functions.f <|constrain|>json<|message|>{\"a\": 1}");
  EXPECT_EQ(message.reasoning_content, "I need it.");
  EXPECT_EQ(calls(message), Texts{R"(f{"a":1})"});
  EXPECT_EQ(calls("harmony", " to=functions.f<|channel|>commentary json<|message|>{}<|call|>"), Texts{"f{}"});
  EXPECT_EQ(parse("harmony", "<|channel|>final<|message|>Four.<|return|>").content, "Four.");
  EXPECT_TRUE(calls("harmony", "<|channel|>commentary to=functions.f<|message|>{").front().starts_with("! "));
}

TEST(ToolCalls, Lfm2ReadsCallsOfPython) {
  EXPECT_EQ(
      calls("lfm2",
            "<|tool_call_start|>[f(a='it\\'s', b=[1, (2, 3)], c={\"k\": True}), g()]<|tool_call_end|>Done"),
      (Texts{R"(f{"a":"it's","b":[1,[2,3]],"c":{"k":true}})", "g{}"}));
  EXPECT_EQ(calls("lfm2", "<|tool_call_start|>[f(a=b)]<|tool_call_end|>").front(),
            "! the arguments of a tool call are malformed at byte 6: expected a value");
  EXPECT_EQ(calls("lfm2", "<|tool_call_start|>[f()<|tool_call_end|>")[1],
            "! the tool call does not end with ]");
}

TEST(ToolCalls, JsonIsTheWholeTurn) {
  EXPECT_EQ(calls("json", R"({"name": "f", "arguments": {"a": 1}})"), Texts{R"(f{"a":1})"});
  EXPECT_EQ(calls("json", "```json\n[{\"name\": \"f\", \"parameters\": {}}]\n```"), Texts{"f{}"});
  EXPECT_EQ(calls("json", R"(See {"name": "f", "arguments": {}})"), Texts{});
  EXPECT_EQ(calls("json", R"({"name": "f"})"), Texts{});
  EXPECT_EQ(parse("json", R"({"answer": 4})").content, R"({"answer": 4})");
}

TEST(ToolCalls, LiteralsAreThoseOfPythonAndJson) {
  const auto read = [](const std::string& text) {
    const ToolCall call = LiteralReader("(a=" + text + ")").read_call("f");
    return call.error.empty() ? to_lenient_json_text(call.arguments["a"]) : call.error;
  };
  EXPECT_EQ(read(R"("\u00e9\ud83d\ude00\n\q\/")"), "\"é😀\\n\\\\q/\"");
  EXPECT_EQ(read("-1.5e3"), "-1500.0");
  EXPECT_EQ(read("None"), "null");
  EXPECT_EQ(read("[]"), "[]");
  EXPECT_EQ(read(R"("\ud83d")"),
            "the arguments of a tool call are malformed at byte 11: half of a surrogate pair");
  EXPECT_EQ(read("{'a': 1, 'a': 2}"),
            "the arguments of a tool call are malformed at byte 17: a key comes twice");
  EXPECT_EQ(read(std::string(200, '[')),
            "the arguments of a tool call are malformed at byte 68: nested too deeply");
}

TEST(ToolCalls, TemplatesNameTheirFormat) {
  EXPECT_STREQ(tool_call_format_of("{{ '<tool_call>' }}...</tool_call>").name, "hermes");
  EXPECT_STREQ(tool_call_format_of("<tool_call>\n<function=f>\n<parameter=a></tool_call>").name, "qwen_xml");
  EXPECT_STREQ(tool_call_format_of("{{ messages }}").name, "json");
  EXPECT_THROW(find_tool_call_format("hermess"), ConfigError);
}

TEST(ToolCalls, MessagesGoIntoTemplatesWithoutBrokenCalls) {
  const AssistantMessage message =
      parse("hermes", "<think>a</think>b<tool_call>{\"name\": \"f\"}</tool_call><tool_call>{</tool_call>");
  EXPECT_EQ(to_json(message),
            Json::parse(R"({"role": "assistant", "content": "b", "reasoning_content": "a", "tool_calls": [
                {"type": "function", "function": {"name": "f", "arguments": {}}}]})"));
}

}  // namespace
}  // namespace cohort
