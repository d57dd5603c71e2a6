#include "cohort/env/tool_config.h"

#include <algorithm>

#include "cohort/core/error.h"
#include "cohort/env/calculator_tool.h"
#include "cohort/env/http_tool.h"
#include "cohort/env/retrieval_tool.h"
#include "cohort/env/session_tool.h"

namespace cohort {
namespace {

/// A key with the types that read it.
struct KeyUse {
  const char* key;
  bool is_set;
  std::vector<const char*> types;
  bool is_needed = false;
};

std::vector<KeyUse> key_uses(const ToolConfig& tool) {
  const std::vector<const char*> sessions{"code_interpreter", "bash"};
  return {{"function", !tool.function.empty(), {"python"}, true},
          {"command", !tool.command.empty(), {"command", "mcp"}, true},
          {"folder", !tool.folder.empty(), {"retrieval"}, true},
          {"url", !tool.url.empty(), {"http"}, true},
          {"name", !tool.name.empty(), {"code_interpreter", "bash", "retrieval"}},
          {"timeout_s", tool.timeout_s.has_value(), {"code_interpreter", "bash", "http"}},
          {"memory_mb", tool.memory_mb.has_value(), sessions},
          {"max_output_length", tool.max_output_length.has_value(), sessions},
          {"runtime", !tool.runtime.empty(), sessions},
          {"waive_layers", !tool.waive_layers.empty(), sessions},
          {"schema", !tool.schema.empty(), {"http"}},
          {"retries", tool.retries.has_value(), {"http"}},
          {"api_key_env", !tool.api_key_env.empty(), {"http"}}};
}

std::string quoted(const std::vector<const char*>& types) {
  std::string text;
  for (const char* type : types) text += str(text.empty() ? "type = " : " or ", "\"", type, "\"");
  return text;
}

}  // namespace

void ToolConfig::describe(FieldVisitor& f) {
  f("type", type,
    "calculator, the value of an arithmetic expression; code_interpreter, Python in the sandbox; bash, a "
    "shell in the sandbox; retrieval, a search in a folder of texts; http, a server of yours; python, a "
    "Python function with type hints and a docstring; command, a program of yours that answers JSON lines; "
    "mcp, a server of the Model Context Protocol.",
    one_of({"", "calculator", "code_interpreter", "bash", "retrieval", "http", "python", "command", "mcp"}));
  f("function", function, "With type = \"python\": \"FILE.py:NAME\" or \"MODULE:NAME\", as TRL takes tools.");
  f("command", command,
    "With type = \"command\" or \"mcp\": the program and its arguments (docs/environments.md).");
  f("name", name,
    "The name that the model calls: python for code_interpreter, bash for bash and search for retrieval when "
    "empty.");
  f("timeout_s", timeout_s, "Seconds for one call of code_interpreter, bash or http, 10 when unset.",
    above(0.0), OnResume::kTaken);
  f("memory_mb", memory_mb, "Memory of an episode's code_interpreter or bash in MiB, 256 when unset.",
    between(16, 65536));
  f("max_output_length", max_output_length,
    "Characters of a result of code_interpreter or bash, 4096 when unset: of a longer one the policy sees "
    "the beginning and the end.",
    between(16, 65536));
  f("runtime", runtime,
    "More files and folders that code_interpreter and bash may read and execute; Python looks there for "
    "modules.");
  f("waive_layers", waive_layers,
    "Layers of the sandbox that may be missing (docs/sandbox.md); by default all must hold.",
    OnResume::kTaken);
  f("folder", folder, "With type = \"retrieval\": the folder with files .txt, .md and .jsonl.");
  f("url", url, "With type = \"http\": the address that calls are posted to. Redirects are not followed.",
    OnResume::kTaken);
  f("schema", schema,
    "With type = \"http\": the JSON schema of the tool, or a list of schemas; when empty, a GET of "
    "url/describe "
    "gives them.");
  f("retries", retries,
    "With type = \"http\": further attempts of a call that found no server, status 408 or 429 or one of 500 "
    "and above; 2 when unset.",
    between(0, 20), OnResume::kTaken);
  f("api_key_env", api_key_env,
    "With type = \"http\": the environment variable that holds the API key, which is sent as a bearer token "
    "and never written down; none when empty.",
    OnResume::kTaken);
}

void ToolConfig::check(double environment_timeout_s) const {
  if (type.empty()) throw ConfigError("a [[tool]] needs a type");
  for (const KeyUse& use : key_uses(*this)) {
    const bool is_read = std::ranges::find(use.types, type) != use.types.end();
    if (use.is_needed && is_read && !use.is_set)
      throw ConfigError(str("tool.", use.key, " is missing: ", quoted(use.types), " needs it"));
    if (!is_read && use.is_set) {
      throw ConfigError(
          str("tool.", use.key, " has no effect without ", quoted(use.types), ": remove one of the two"));
    }
  }
  const double longest = timeout_s.value_or(kDefaultToolTimeoutS);
  const bool has_timeout = type == "code_interpreter" || type == "bash" || type == "http";
  if (has_timeout && longest >= environment_timeout_s) {
    throw ConfigError(str("tool.timeout_s = ", longest, " must be below environment.timeout_s = ",
                          environment_timeout_s, ", after which the episode has failed: change one of them"));
  }
}

std::vector<std::unique_ptr<Tool>> make_tools(const ToolConfig& config) {
  std::vector<std::unique_ptr<Tool>> tools;
  if (config.type == "calculator") tools.push_back(make_calculator());
  if (config.type == "code_interpreter" || config.type == "bash") tools.push_back(make_session_tool(config));
  if (config.type == "retrieval") tools.push_back(make_retrieval_tool(config));
  if (config.type == "http") tools = make_http_tools(config);
  return tools;
}

}  // namespace cohort
