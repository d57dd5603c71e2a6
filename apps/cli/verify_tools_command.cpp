// cohort verify-tools: the tool calls that given completions contain, and how replies follow them, before a
// run.
#include <iostream>
#include <optional>

#include "apps/cli/command.h"
#include "apps/cli/rows.h"
#include "cohort/core/exact_json.h"
#include "cohort/core/time_text.h"
#include "cohort/env/turn_format.h"
#include "cohort/tasks/text_format.h"
#include "cohort/text/tokenizer.h"

namespace cohort::cli {
namespace {

struct VerifyToolsConfig {
  std::string model, format;

  void describe(FieldVisitor& f) {
    std::string names;
    for (const std::string& name : tool_call_format_names()) names += (names.empty() ? "" : ", ") + name;
    const std::string meaning = "How calls are written, without a model: " + names + ".";
    f("model", model,
      "Directory whose chat template says how calls are written; needed for `completion_ids` and `reply`.");
    f("format", format, meaning.c_str());
  }
};

/// Reads a row: {"completion": TEXT} or {"completion_ids": [...]}, and beside it "tools", a list of JSON
/// schemas, and "reply", the messages that answer the turn.
class TurnReader {
 public:
  explicit TurnReader(const VerifyToolsConfig& config) : named_format_(config.format) {
    if (config.model.empty()) return;
    tokenizer_.emplace(Tokenizer::from_directory(config.model));
    text_ = text_format(*tokenizer_, config.model, present_time());
  }

  Json read(const Json& row, const std::string& where) const {
    const Json tools = row.value("tools", Json());
    if (!tools.is_null() && !tools.is_array())
      throw FormatError(where + ": \"tools\" must be a list of JSON schemas");
    const ToolCallFormat& format = this->format(!tools.is_null());
    const AssistantMessage turn = parse_turn(format, text(row, where), tools);
    Json line = to_line(turn);
    if (row.contains("reply")) line["reply"] = reply(row, format, tools, turn, where);
    return line;
  }

 private:
  const ToolCallFormat& format(bool with_tools) const {
    if (!named_format_.empty()) return find_tool_call_format(named_format_);
    return tool_call_format_of(text_.template_source(with_tools));
  }

  /// The text with its special tokens and without a final end-of-sequence token.
  std::string text(const Json& row, const std::string& where) const {
    if (row.contains("completion")) return read_string(row, "completion", where);
    if (!row.contains("completion_ids"))
      throw FormatError(where + ": give \"completion\" or \"completion_ids\"");
    if (!tokenizer_) throw FormatError(where + ": \"completion_ids\" need --model");
    std::vector<int32_t> ids = read_ids(row, "completion_ids", where);
    if (!ids.empty() && tokenizer_->eos_token_id() == ids.back()) ids.pop_back();
    return tokenizer_->decode(ids, {.skip_special_tokens = false});
  }

  /// What a run appends after the turn, which ended with the end-of-sequence token.
  Json reply(const Json& row, const ToolCallFormat& format, const Json& tools, const AssistantMessage& turn,
             const std::string& where) const {
    if (!tokenizer_) throw FormatError(where + ": \"reply\" needs --model");
    if (!row.at("reply").is_array()) throw FormatError(where + ": \"reply\" must be a list of messages");
    const std::optional<int32_t> eos = tokenizer_->eos_token_id();
    std::vector<int32_t> stops;
    if (eos) stops.push_back(*eos);
    const TurnFormat turns(text_, *tokenizer_, format, tools, stops);
    const std::vector<int32_t> ids = turns.reply_ids(turn, eos.value_or(-1), row.at("reply"));
    return {{"ids", ids}, {"text", tokenizer_->decode(ids, {.skip_special_tokens = false})}};
  }

  static Json to_line(const AssistantMessage& message) {
    Json calls = Json::array();
    for (const ToolCall& call : message.tool_calls) {
      Json entry = {{"name", call.name}, {"arguments", call.arguments}};
      if (!call.id.empty()) entry["id"] = call.id;
      if (!call.error.empty()) entry["error"] = call.error;
      calls.push_back(std::move(entry));
    }
    return {{"content", message.content},
            {"reasoning_content", message.reasoning_content},
            {"tool_calls", std::move(calls)}};
  }

  std::string named_format_;
  std::optional<Tokenizer> tokenizer_;
  TextFormat text_;
};

}  // namespace

int verify_tools_command(const Command& self, const Arguments& arguments) {
  VerifyToolsConfig config;
  const auto files = read_arguments(self, arguments, config);
  if (!files) return 0;
  if (files->size() != 1) throw ConfigError("give one FILE of completions, see cohort verify-tools --help");
  if (config.model.empty() == config.format.empty()) throw ConfigError("give either --model or --format");
  const TurnReader reader(config);
  int64_t num_rows = 0, num_calls = 0, num_malformed = 0;
  for_each_row(files->front(), [&](const Json& row, const std::string& where) {
    const Json line = reader.read(row, where);
    ++num_rows;
    for (const Json& call : line.at("tool_calls")) {
      ++num_calls;
      if (call.contains("error")) ++num_malformed;
    }
    std::cout << to_lenient_json_text(line) << "\n";
  });
  std::cerr << "cohort: " << num_rows << " completions, " << num_calls << " tool calls, " << num_malformed
            << " malformed\n";
  return 0;
}

}  // namespace cohort::cli
