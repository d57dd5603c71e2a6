// Where a model directory keeps its chat templates and the variables of its special tokens.
#include <fstream>
#include <iterator>
#include <system_error>

#include "cohort/core/error.h"
#include "cohort/text/chat_template.h"
#include "cohort/text/component.h"
#include "cohort/text/jinja/error.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Larger configurations of tokenizers do not exist.
constexpr uintmax_t kMaxBytes = 256 << 20;

/// The whole of a regular file.
std::string read_text(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::is_regular_file(status)) throw FormatError(str(path.string(), ": is no file that can be read"));
  if (fs::file_size(path, error) > kMaxBytes)
    throw FormatError(str(path.string(), ": has more than ", kMaxBytes, " bytes"));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FormatError(str(path.string(), ": can't be read"));
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// tokenizer_config.json or its like; null when there is none.
TokenizerJson read_config(const fs::path& path) {
  if (!is_there(path)) return nullptr;
  try {
    TokenizerJson config = TokenizerJson::parse(read_text(path));
    if (!config.is_object()) throw FormatError(str(path.string(), ": must hold a JSON object"));
    return config;
  } catch (const TokenizerJson::parse_error& error) {
    throw FormatError(str(path.string(), ": malformed JSON at byte ", error.byte));
  }
}

using Sources = std::map<std::string, std::string>;

Sources templates_in_files(const fs::path& model_dir) {
  Sources templates;
  if (is_there(model_dir / "chat_template.jinja"))
    templates["default"] = read_text(model_dir / "chat_template.jinja");
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(model_dir / "additional_chat_templates", error)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".jinja") templates[path.stem().string()] = read_text(path);
  }
  return templates;
}

Sources templates_in_config(const TokenizerJson& config) {
  if (config.is_null() || !config.contains("chat_template") || config["chat_template"].is_null()) return {};
  const TokenizerJson& value = config["chat_template"];
  if (value.is_string()) return {{"default", value.get<std::string>()}};
  if (!value.is_array()) throw FormatError("\"chat_template\" must be a string or a list of named templates");
  Sources templates;
  for (const TokenizerJson& entry : value)
    templates[string_field(entry, "name", "chat_template")] =
        string_field(entry, "template", "chat_template");
  return templates;
}

/// The value of a special token: a string, or an object that holds it as "content".
std::optional<std::string> token_text(const TokenizerJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string())
    return value["content"].get<std::string>();
  return std::nullopt;
}

void add_tokens(const TokenizerJson& config, Json& tokens) {
  if (config.is_null()) return;
  for (const auto& [key, value] : config.items()) {
    const std::optional<std::string> text = token_text(value);
    if (key.ends_with("_token") && text) tokens[key] = *text;
  }
  if (!config.contains("extra_special_tokens") || !config["extra_special_tokens"].is_object()) return;
  for (const auto& [key, value] : config["extra_special_tokens"].items())
    if (const std::optional<std::string> text = token_text(value)) tokens[key] = *text;
}

}  // namespace

bool ChatTemplate::is_in(const fs::path& model_dir) {
  if (!templates_in_files(model_dir).empty()) return true;
  const TokenizerJson config = read_config(model_dir / "tokenizer_config.json");
  return !config.is_null() && config.contains("chat_template") && !config["chat_template"].is_null();
}

ChatTemplate ChatTemplate::from_directory(const fs::path& model_dir) {
  const fs::path config_path = model_dir / "tokenizer_config.json";
  const TokenizerJson config = read_config(config_path);
  Json special_tokens = Json::object();
  add_tokens(config, special_tokens);
  if (config.is_null() || !config.contains("added_tokens_decoder"))
    add_tokens(read_config(model_dir / "special_tokens_map.json"), special_tokens);
  Sources templates = templates_in_files(model_dir);
  try {
    if (templates.empty()) templates = templates_in_config(config);
    if (!templates.empty()) return {templates, special_tokens};
  } catch (const jinja::TemplateError& error) {
    throw FormatError(str(model_dir.string(), ": ", error.what()));
  } catch (const FormatError& error) {
    throw FormatError(str(config_path.string(), ": ", error.what()));
  }
  throw FormatError(str(model_dir.string(),
                        ": has no chat template: neither chat_template.jinja nor "
                        "\"chat_template\" in tokenizer_config.json"));
}

}  // namespace cohort
