#include "cohort/env/http_tool.h"

#include "cohort/core/error.h"
#include "cohort/core/exact_json.h"
#include "cohort/env/session_tool.h"
#include "cohort/env/tool_config.h"
#include "cohort/rewards/http/endpoint.h"
#include "cohort/rewards/http/http_client.h"
#include "libs/common/excerpt.h"

namespace cohort {
namespace {

class HttpTool : public Tool {
 public:
  HttpTool(Json schema, std::shared_ptr<Endpoint> endpoint)
      : Tool(std::move(schema)), endpoint_(std::move(endpoint)) {}

  ToolResult call(const Json& arguments, int64_t episode) override {
    const Json request{{"name", name()}, {"arguments", arguments}, {"episode", episode}};
    const Endpoint::Answer answer = endpoint_->post(endpoint_->next_id(), to_lenient_json_text(request));
    const auto fail = [&](const std::string& why) {
      throw EnvironmentFailure(str("the server of the tool ", name(), ": ", why));
    };
    if (answer.status != RewardStatus::kOk) fail(answer.reason);
    const Json reply = parse_exact_json(answer.body);
    for (const char* key : {"error", "content"}) {
      const Json text = reply.is_object() ? reply.value(key, Json()) : Json();
      // A reply may spell the key such that it shows only once the JSON is read.
      if (text.is_string())
        return {endpoint_->without_key(text.get<std::string>()), key == std::string_view("error")};
    }
    fail(str("the reply ", excerpt(answer.body), " has neither a text \"content\" nor a text \"error\""));
    return {};
  }

 private:
  std::shared_ptr<Endpoint> endpoint_;
};

/// The text with the schemas.
std::string ask_for_schemas(const EndpointSettings& settings) {
  std::string url = settings.url;
  if (url.find_first_of("?#") != std::string::npos)
    throw ConfigError("tool.schema is missing: a tool.url with ? or # has no address url/describe");
  if (url.ends_with('/')) url.pop_back();
  url += "/describe";
  HttpRequest request{url, {"Accept: application/json"}, ""};
  if (!settings.api_key.empty()) request.headers.push_back("Authorization: Bearer " + settings.api_key);
  const HttpReply reply = HttpClient().get(request, settings.timeout);
  const bool is_reply = reply.outcome == HttpReply::Outcome::kReply;
  if (!is_reply || reply.status < 200 || reply.status >= 300)
    throw ConfigError(str("tool.url: GET ", url,
                          " gives no schemas: ", is_reply ? str("HTTP ", reply.status) : reply.reason,
                          "; start the server, or give the schemas as tool.schema"));
  return reply.body;
}

/// The schemas in {"tools": [...]}, in a list, or the one that `value` is.
Json list_of(Json value) {
  if (value.is_object() && value.contains("tools")) value = value["tools"];
  return value.is_array() ? value : Json::array({value});
}

}  // namespace

std::vector<std::unique_ptr<Tool>> make_http_tools(const ToolConfig& config) {
  EndpointKeys keys{config.url, config.timeout_s, config.retries, config.api_key_env};
  const EndpointSettings settings = read_endpoint_settings("tool http: ", keys, kDefaultToolTimeoutS);
  const bool is_given = !config.schema.empty();
  std::string fault;
  const Json schemas = parse_exact_json(is_given ? config.schema : ask_for_schemas(settings), &fault);
  const std::string where = is_given ? "tool.schema" : "tool.url: the reply of url/describe";
  if (schemas.is_discarded()) throw ConfigError(str(where, " is no JSON: ", fault));
  const auto endpoint = std::make_shared<Endpoint>(settings);
  std::vector<std::unique_ptr<Tool>> tools;
  for (const Json& schema : list_of(schemas)) {
    try {
      tools.push_back(std::make_unique<HttpTool>(schema, endpoint));
    } catch (const ConfigError& error) {
      throw ConfigError(str(where, ": ", error.what()));
    }
  }
  if (tools.empty()) throw ConfigError(str(where, " has no tool"));
  return tools;
}

}  // namespace cohort
