#include "cohort/view/view_handler.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>

#include "cohort/core/log.h"
#include "cohort/explain/run_diff.h"
#include "cohort/http/access.h"
#include "cohort/http/error_json.h"
#include "cohort/records/run_directory.h"
#include "cohort/view/completion_answers.h"
#include "cohort/view/page_asset.h"
#include "cohort/view/prometheus.h"
#include "cohort/view/run_answers.h"
#include "libs/common/excerpt.h"
#include "libs/common/hash.h"

namespace cohort {
namespace {

constexpr int64_t kTicksBetweenComments = 15;

/// The page may use only what this server gives, runs no script of its own text, and stands in no other page.
constexpr const char* kContentSecurityPolicy =
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void set_common_headers(HttpAnswer& answer) {
  answer.set_header("Content-Security-Policy", kContentSecurityPolicy);
  answer.set_header("X-Content-Type-Options", "nosniff");
  answer.set_header("Referrer-Policy", "no-referrer");
  answer.set_header("Cross-Origin-Resource-Policy", "same-origin");
}

void refuse(HttpAnswer& answer, int status, const std::string& message) {
  answer.set_header("Cache-Control", "no-store");
  answer.send(status, to_json_text(error_json("", message, status)));
}

/// Of this token: cookies don't know of ports, and a machine may have several pages.
std::string cookie_name(const std::string& token) {
  char name[40];
  std::snprintf(name, sizeof name, "cohort_view_%08x", static_cast<uint32_t>(fnv1a(token)));
  return name;
}

/// A query without the parameter `token`.
std::string without_token(const std::string& query) {
  std::string rest;
  for (size_t begin = 0; begin < query.size();) {
    const size_t end = std::min(query.find('&', begin), query.size());
    const std::string pair = query.substr(begin, end - begin);
    if (!pair.starts_with("token=") && !pair.empty()) rest += (rest.empty() ? "" : "&") + pair;
    begin = end + 1;
  }
  return rest;
}

using RunAnswer = std::function<Json(RunView&, const Query&)>;

struct RunPath {
  const char* path;
  RunAnswer answer;
};

constexpr const char* kNoModel = "this server has no model to replay with";

/// Why the tokens of a group can't be replayed; null if they can.
Json replay_problem(const std::filesystem::path& run, int64_t step) {
  std::string problem = RunDirectory::missing_batch(run, step);
  if (problem.empty() && step > 1) problem = RunDirectory::missing_checkpoint(run, step - 1);
  return problem.empty() ? Json(nullptr) : Json(problem);
}

/// The answers of one run that take more parameters than `run`.
const std::vector<RunPath>& run_paths() {
  static const std::vector<RunPath> paths{
      {"/api/figures", figures_answer},       {"/api/completions", completions_answer},
      {"/api/completion", completion_answer}, {"/api/prompt", prompt_answer},
      {"/api/prompts", prompts_answer},       {"/api/rewards", rewards_answer},
      {"/api/timeline", timeline_answer}};
  return paths;
}

}  // namespace

ViewHandler::ViewHandler(const std::vector<std::filesystem::path>& runs, std::string host, std::string token,
                         ReplayFunction replay)
    : runs_(open_runs(runs)), host_(std::move(host)), token_(std::move(token)), replay_(std::move(replay)) {}

void ViewHandler::handle(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer) {
  set_common_headers(*answer);
  try {
    answer_request(request, answer);
  } catch (const RequestError& error) {
    refuse(*answer, error.status(), error.what());
  } catch (const UserError& error) {
    refuse(*answer, 500, error.what());
  } catch (const std::exception& error) {
    log_warn(request.method, " ", excerpt(request.path), " failed: ", error.what());
    refuse(*answer, 500, str("the records of the run cannot be read: ", error.what()));
  }
}

void ViewHandler::answer_request(const IncomingRequest& request, const std::shared_ptr<HttpAnswer>& answer) {
  if (request.method != "GET" && request.method != "HEAD")
    throw RequestError(
        405, str("the method is ", excerpt(request.method), "; this server only takes GET and HEAD"));
  const Query query(request.query);
  if (!check_access(request, query, *answer)) return;
  if (find_page_asset(request.path) != nullptr) return send_page(request, *answer);
  answer->set_header("Cache-Control", "no-store");
  if (request.path == "/metrics")
    return answer->send(200, prometheus_text(runs_), "text/plain; version=0.0.4; charset=utf-8");
  if (request.path == "/events") {
    query.check_known({});
    if (request.method == "HEAD") return answer->send(200, "", "text/event-stream");
    std::string first;
    for (size_t i = 0; i < runs_.size(); ++i) first += EventStream::event(change_of(i));
    return events_.add(answer, first);
  }
  if (request.path == "/api/replay") return send_replay(query, answer);
  answer->send(200, to_json_text(json_of(request.path, query)));
}

// A model takes seconds, in which the server's thread goes on.
void ViewHandler::send_replay(const Query& query, const std::shared_ptr<HttpAnswer>& answer) {
  query.check_known({"run", "step", "prompt_id"});
  const auto step = query.integer("step", 1, std::numeric_limits<int64_t>::max());
  const std::optional<std::string> prompt_id = query.text("prompt_id");
  if (!step || !prompt_id) throw RequestError(400, "parameters step and prompt_id are missing; give both");
  const std::filesystem::path run = run_of(query).path();
  if (!replay_) throw RequestError(404, kNoModel);
  if (replaying_.valid() && replaying_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    throw RequestError(503, "another step is replayed now; ask again in some seconds");
  replaying_ = std::async(std::launch::async, [=, replay = replay_] {
    try {
      answer->send(200, to_json_text(replay(run, *step, *prompt_id)));
    } catch (const std::exception& error) {
      refuse(*answer, 409, error.what());
    }
  });
}

/// Whether the request may go on; otherwise it has an answer.
bool ViewHandler::check_access(const IncomingRequest& request, const Query& query, HttpAnswer& answer) const {
  // A foreign page whose name leads here (DNS rebinding) sends its own name.
  const std::string name = host_name(request.header("host"));
  const bool is_any = host_ == "0.0.0.0" || host_ == "::";
  if (!is_loopback(name) && name != host_ && !(is_any && !token_.empty()))
    throw RequestError(
        403, str("the host ", excerpt(name), " is not this server; use the address that it printed"));
  if (token_.empty()) return true;
  const std::string given = query.text("token").value_or("");
  if (is_same_secret(given, token_)) {
    answer.set_header("Set-Cookie",
                      str(cookie_name(token_), "=", token_, "; Path=/; HttpOnly; SameSite=Lax"));
    if (request.path != "/") return true;
    const std::string rest = without_token(request.query);
    answer.set_header("Location", rest.empty() ? "/" : "/?" + rest);
    answer.set_header("Cache-Control", "no-store");
    answer.send(303, "", "text/plain");
    return false;
  }
  if (is_same_secret(bearer_secret(request), token_) ||
      is_same_secret(cookie_of(request, cookie_name(token_)), token_))
    return true;
  throw RequestError(401, "the token is missing or wrong; open the address that cohort view printed");
}

void ViewHandler::send_page(const IncomingRequest& request, HttpAnswer& answer) const {
  const PageAsset& asset = *find_page_asset(request.path);
  const std::string tag = entity_tag(asset);
  answer.set_header("ETag", tag);
  answer.set_header("Cache-Control", "no-cache");
  if (request.header("if-none-match") == tag) return answer.send(304, "", std::string(asset.content_type));
  answer.send(200, std::string(asset.bytes), std::string(asset.content_type));
}

Json ViewHandler::json_of(const std::string& path, const Query& query) {
  if (path == "/api/runs") return all_runs(query);
  if (path == "/api/diff") return difference(query);
  for (const RunPath& each : run_paths()) {
    if (path == each.path) return each.answer(run_of(query), query);
  }
  if (path == "/api/group") {
    RunView& run = run_of(query);
    Json group = group_answer(run, query);
    group["replay_problem"] = replay_ ? replay_problem(run.path(), group["step"]) : Json(kNoModel);
    return group;
  }
  const bool is_run = path == "/api/run", is_metrics = path == "/api/metrics",
             is_findings = path == "/api/findings";
  if (!is_run && !is_metrics && !is_findings) throw RequestError(404, str("there is no ", excerpt(path)));
  query.check_known({"run"});
  RunView& run = run_of(query);
  if (is_run) return run_answer(run);
  return is_metrics ? metrics_answer(run) : findings_answer(run);
}

Json ViewHandler::all_runs(const Query& query) const {
  query.check_known({});
  Json rows = Json::array();
  for (size_t i = 0; i < runs_.size(); ++i) rows.push_back(run_summary(runs_[i], static_cast<int64_t>(i)));
  return rows;
}

Json ViewHandler::difference(const Query& query) {
  query.check_known({"a", "b"});
  if (!query.text("a") || !query.text("b"))
    throw RequestError(400, "parameters a and b are the numbers of two runs; give both");
  return to_json(compare_runs(run_of(query, "a").evidence(), run_of(query, "b").evidence()));
}

RunView& ViewHandler::run_of(const Query& query, const char* parameter) {
  const auto number = query.integer(parameter, 0, std::ssize(runs_) - 1).value_or(0);
  RunView& run = runs_[static_cast<size_t>(number)];
  run.check();
  return run;
}

std::string ViewHandler::change_of(size_t run) const {
  return to_json_text(
      {{"run", run}, {"step", runs_[run].figures().last_step()}, {"version", runs_[run].version()}});
}

void ViewHandler::follow() {
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (runs_[i].update()) events_.send(change_of(i));
  }
  if (++num_ticks_ % kTicksBetweenComments == 0) events_.keep_alive();
}

}  // namespace cohort
