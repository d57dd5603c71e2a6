// JSON schema: the JSON of the completion must be valid against the row's schema, or the recipe's.
#include <map>

#include "cohort/core/input_file.h"
#include "cohort/rewards/code_block.h"
#include "cohort/rewards/make_reward.h"
#include "libs/common/answer_marks.h"
#include "libs/common/ascii.h"
#include "libs/common/excerpt.h"
#include "libs/json_schema/schema.h"

namespace cohort {
namespace {

using json_schema::Schema;

struct JsonSchemaKeys {
  std::string schema;
  std::string column;

  void describe(FieldVisitor& f) {
    f("schema", schema,
      "The schema of all rows, as JSON or as the name of a file; that of the row's column when empty.");
    f("column", column, "The data's column with the schema; `schema` when empty.");
  }
};

struct FoundJson {
  const char* place;
  std::string text;
};

/// The last fenced block of JSON, or the stated answer between tags, or all that follows the thinking. A box
/// is none of them: it may stand in a text of the JSON.
FoundJson find_json(std::string_view completion) {
  const std::string_view rest = behind_thinking(completion);
  if (auto block = last_code_block(rest, {"json"})) return {"the last fenced block", *std::move(block)};
  if (const auto answer = last_answer(rest)) return {"the last <answer>", std::string(trim(*answer))};
  return {"the whole text", std::string(trim(rest))};
}

/// Throws FormatError for what is no schema.
std::shared_ptr<const Schema> read_schema(const std::string& text) {
  std::string fault;
  std::optional<json_schema::Value> document = json_schema::read_value(text, fault);
  if (!document) throw FormatError("it is no JSON: " + fault);
  try {
    return std::make_shared<const Schema>(*std::move(document));
  } catch (const json_schema::SchemaError& error) {
    throw FormatError(error.what());
  }
}

class JsonSchemaReward : public Reward {
 public:
  JsonSchemaReward(const std::string& name, const JsonSchemaKeys& keys)
      : column_(keys.column.empty() ? "schema" : keys.column) {
    if (keys.schema.empty()) return;
    const bool is_inline = trim(keys.schema).starts_with('{');
    try {
      common_ = read_schema(is_inline ? keys.schema : read_whole_file(keys.schema));
    } catch (const FormatError& error) {
      const std::string file = is_inline ? "" : keys.schema + ": ";
      throw ConfigError(str("reward ", name, ": `schema`: ", file, error.what()));
    }
  }

  RewardResult score(const Prompt& prompt, const Completion& completion) override {
    std::shared_ptr<const Schema> schema;
    try {
      schema = schema_of(prompt.fields);
    } catch (const FormatError& error) {
      return {0.0, RewardStatus::kUnparsed, str(prompt.id, ": column \"", column_, "\": ", error.what())};
    }
    std::string fault;
    const auto instance = json_schema::read_value(find_json(completion.text).text, fault);
    if (!instance) return {0.0, RewardStatus::kOk, "no JSON: " + fault};
    const std::optional<std::string> wrong = json_schema::find_fault(*schema, *instance);
    return {wrong ? 0.0 : 1.0, RewardStatus::kOk, wrong ? "not valid " + *wrong : "valid"};
  }

  std::vector<Remark> explain(const Prompt& prompt, const Completion& completion) const override {
    const FoundJson found = find_json(completion.text);
    std::string fault;
    const auto instance = json_schema::read_value(found.text, fault);
    const auto column = prompt.fields.find(column_);
    const std::string schema = common_                         ? "the recipe's"
                               : column == prompt.fields.end() ? "none"
                               : column->is_string()           ? column->get<std::string>()
                                                               : to_json_text(*column);
    return {{str("JSON, ", found.place), shown(found.text)},
            {"read as", instance ? json_schema::describe(*instance) : "no JSON: " + fault},
            {"schema", shown(schema)}};
  }

 private:
  std::shared_ptr<const Schema> schema_of(const Json& fields) {
    if (common_) return common_;
    const auto column = fields.find(column_);
    if (column == fields.end() || column->is_null()) throw FormatError("holds no schema");
    const std::string text = string_or_json(*column);
    if (const auto known = schemas_.find(text); known != schemas_.end()) return known->second;
    std::shared_ptr<const Schema> schema = read_schema(text);
    constexpr size_t kMaxKept = 64;
    if (schemas_.size() == kMaxKept) schemas_.clear();
    schemas_.emplace(text, schema);
    return schema;
  }

  std::string column_;
  std::shared_ptr<const Schema> common_;                          // of all rows, where the recipe gives it
  std::map<std::string, std::shared_ptr<const Schema>> schemas_;  // of rows, by their text
};

}  // namespace

RewardMaker json_schema_reward() {
  return reward_maker<JsonSchemaKeys>([](const RewardConfig& config, const JsonSchemaKeys& keys) {
    if (!keys.schema.empty() && !keys.column.empty())
      throw ConfigError(str("reward ", config.name, ": give either `schema` or `column`"));
    return std::make_unique<JsonSchemaReward>(config.name, keys);
  });
}

}  // namespace cohort
