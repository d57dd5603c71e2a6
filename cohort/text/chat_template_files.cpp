// Where a model directory keeps its chat templates and the variables of its special tokens.
#include <system_error>

#include "cohort/core/error.h"
#include "cohort/core/input_file.h"
#include "cohort/core/local_model.h"
#include "cohort/text/chat_template.h"
#include "cohort/text/component.h"

namespace cohort {
namespace {

namespace fs = std::filesystem;

/// Larger configurations of tokenizers do not exist.
constexpr uintmax_t kMaxBytes = 256 << 20;

/// The whole of a regular file.
std::string read_text(const fs::path& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) > kMaxBytes)
    throw FormatError(str(path.string(), ": has more than ", kMaxBytes, " bytes"));
  return read_whole_file(path);
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

/// A template's text and where it was read, for messages.
struct TemplateText {
  std::string text;
  std::string where;
};
using Sources = std::map<std::string, TemplateText>;

void add_file(Sources& templates, const std::string& name, const fs::path& path) {
  templates[name] = {read_text(path), path.string()};
}

Sources templates_in_files(const fs::path& model_dir) {
  Sources templates;
  if (const fs::path path = model_dir / "chat_template.jinja"; is_there(path))
    add_file(templates, "default", path);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(model_dir / "additional_chat_templates", error)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".jinja") add_file(templates, path.stem().string(), path);
  }
  return templates;
}

Sources templates_in_config(const TokenizerJson& config, const std::string& where) {
  if (config.is_null() || !config.contains("chat_template") || config["chat_template"].is_null()) return {};
  const TokenizerJson& value = config["chat_template"];
  const std::string key = where + ": \"chat_template\"";
  if (value.is_string()) return {{"default", {value.get<std::string>(), key}}};
  if (!value.is_array()) throw FormatError(key + " must be a string or a list of named templates");
  Sources templates;
  for (const TokenizerJson& entry : value) {
    const std::string name = string_field(entry, "name", key);
    templates[name] = {string_field(entry, "template", key), str(key, " ", quoted_name(name))};
  }
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
  const fs::path directory = local_model(model_dir);
  if (!templates_in_files(directory).empty()) return true;
  const TokenizerJson config = read_config(directory / "tokenizer_config.json");
  return !config.is_null() && config.contains("chat_template") && !config["chat_template"].is_null();
}

ChatTemplate ChatTemplate::from_directory(const fs::path& model_dir, const fs::path& template_file) {
  const fs::path directory = local_model(model_dir);
  const fs::path config_path = directory / "tokenizer_config.json";
  const TokenizerJson config = read_config(config_path);
  Json special_tokens = Json::object();
  add_tokens(config, special_tokens);
  if (config.is_null() || !config.contains("added_tokens_decoder"))
    add_tokens(read_config(directory / "special_tokens_map.json"), special_tokens);
  Sources templates;
  if (!template_file.empty()) add_file(templates, "default", template_file);
  if (templates.empty()) templates = templates_in_files(directory);
  if (templates.empty()) templates = templates_in_config(config, config_path.string());
  if (templates.empty()) {
    throw FormatError(str(directory.string(),
                          ": has no chat template: neither chat_template.jinja nor "
                          "\"chat_template\" in tokenizer_config.json"));
  }
  ChatTemplate result({}, special_tokens);
  for (const auto& [name, source] : templates) {
    try {
      result.add(name, source.text);
    } catch (const TemplateError& error) {
      throw FormatError(str(source.where, ": ", error.what()));
    }
  }
  return result;
}

}  // namespace cohort
