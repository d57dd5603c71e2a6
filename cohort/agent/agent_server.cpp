#include "cohort/agent/agent_server.h"

#include "cohort/serve/api/api_error.h"
#include "cohort/serve/api/body_reader.h"

namespace cohort {
namespace {

constexpr const char* kNoEpisode =
    "the API key names no open episode: an episode ends with its reward, its deadline or its agent";

AgentEnd read_end(const Json& json) {
  BodyReader body(json);
  AgentEnd end;
  end.reward = body.number("reward", -1e300, 1e300);
  end.failure = body.text("error").value_or("");
  if (!end.reward && end.failure.empty()) body.required("reward");
  body.check_known();
  return end;
}

}  // namespace

AgentServer::AgentServer(const AgentConfig& config, const ServedModel& model, AgentHub& hub)
    : config_(config),
      hub_(hub),
      api_(
          model, counts_, /*api_key=*/"",
          [this](ApiCall call) {
            const std::string key = call.key;
            if (!hub_.post(key, std::move(call))) throw ApiError(kNoEpisode, "", 401);
          },
          [this](const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer) {
            return route(request, *answer);
          }),
      http_("127.0.0.1", config.port, {},
            [this](const IncomingRequest& request, const auto& answer) { api_.handle(request, answer); }) {}

AgentServer::~AgentServer() { http_.stop(); }

std::string AgentServer::base_url() const { return str("http://127.0.0.1:", http_.port(), "/v1"); }

bool AgentServer::route(const IncomingRequest& request, HttpAnswer& answer) {
  constexpr std::string_view kEpisodes = "/v1/episodes/", kReward = "/reward";
  const std::string& path = request.path;
  if (request.method != "POST" || !path.starts_with(kEpisodes)) return false;
  if (path == "/v1/episodes/claim") {
    answer.send(200, to_json_text(claimed()));
    return true;
  }
  if (!path.ends_with(kReward)) return false;
  const std::string key =
      path.substr(kEpisodes.size(), path.size() - std::min(path.size(), kEpisodes.size() + kReward.size()));
  if (!hub_.post(key, read_end(parse_body(request.body)))) throw ApiError(kNoEpisode, "", 404);
  answer.send(200, "{}");
  return true;
}

/// A task as agents get it; {"id": null} if there is none at the moment.
Json AgentServer::claimed() {
  const auto task = hub_.claim(/*waits=*/false);
  if (!task) return {{"id", nullptr}};
  return task_json(*task, base_url(), config_.model_name);
}

}  // namespace cohort
