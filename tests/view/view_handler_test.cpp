#include "cohort/view/view_handler.h"

#include <gtest/gtest.h>

#include <future>

#include "cohort/core/error.h"
#include "tests/view/recorded_answer.h"
#include "tests/view/run_case.h"

namespace cohort {
namespace {

class ViewHandlerTest : public testing::Test {
 protected:
  RecordedAnswer ask(const std::string& target) { return ask(get_request(target)); }

  RecordedAnswer ask(const IncomingRequest& request) {
    const auto answer = std::make_shared<RecordedAnswer>();
    handler_.handle(request, answer);
    EXPECT_EQ(answer->num_sent, 1) << request.path;
    return *answer;
  }

  Json json(const std::string& target) {
    const RecordedAnswer answer = ask(target);
    EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
    EXPECT_EQ(answer.content_type, "application/json");
    return Json::parse(answer.body);
  }

  RunCase run_;
  ViewHandler handler_{{run_.path()}, "127.0.0.1", ""};
};

TEST_F(ViewHandlerTest, ListsRuns) {
  const Json runs = json("/api/runs");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]["run"], 0);
  EXPECT_EQ(runs[0]["name"], run_.path().filename().string());
  EXPECT_EQ(runs[0]["step"], 6);
  EXPECT_EQ(runs[0]["max_steps"], 8);
  EXPECT_EQ(runs[0]["is_finished"], false);
  EXPECT_EQ(runs[0]["started"], "2027-03-04T05:06:07");
  EXPECT_EQ(runs[0]["kind"], "train");
  EXPECT_EQ(runs[0]["model"], "start");
  EXPECT_EQ(runs[0]["preset"], "grpo");
  EXPECT_EQ(runs[0]["seed"], 3);
}

TEST_F(ViewHandlerTest, GivesTheRecipe) {
  const Json run = json("/api/run?run=0");
  EXPECT_EQ(run["recipe"]["rollout"]["num_generations"], 2);
  EXPECT_EQ(run["recipe"]["reward"][0]["type"], "countdown");
  EXPECT_EQ(run["changes"], Json::array());
  EXPECT_TRUE(run["plan"].is_null());
}

TEST_F(ViewHandlerTest, GivesFiguresAndTheirMeaning) {
  const Json figures = json("/api/figures?run=0&name=reward&name=kl")["figures"];
  EXPECT_EQ(figures["reward"]["steps"], (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(figures["reward"]["values"], (std::vector<double>{0.5, 0.5, 0.5, 1, 1, 1}));
  EXPECT_TRUE(figures["kl"]["values"][0].is_null());
  const Json metrics = json("/api/metrics?run=0");
  const auto reward = std::ranges::find_if(metrics, [](const Json& row) { return row["name"] == "reward"; });
  ASSERT_NE(reward, metrics.end());
  EXPECT_EQ((*reward)["denominator"], "scorable completions");
  EXPECT_EQ(ask("/api/figures?name=rewrad").status, 404);
  EXPECT_EQ(ask("/api/figures").status, 400);
}

TEST_F(ViewHandlerTest, HasNothingToReplayWithoutAModel) {
  EXPECT_EQ(ask("/api/replay?step=2&prompt_id=easy").status, 404);
  EXPECT_EQ(ask("/api/replay?step=2").status, 400);
  EXPECT_EQ(json("/api/group?step=2&prompt_id=easy")["replay_problem"],
            "this server has no model to replay with");
}

TEST(ViewHandlerReplay, AnswersAfterwardsAndOneAtATime) {
  const RunCase run;
  std::promise<void> go_on;
  std::shared_future<void> may_go_on = go_on.get_future().share();
  ViewHandler handler({run.path()}, "127.0.0.1", "",
                      [=](const std::filesystem::path&, int64_t step, const std::string& prompt_id) -> Json {
                        may_go_on.wait();
                        if (step == 3) throw ConfigError("step 3 has no batch");
                        return {{"step", step}, {"prompt", prompt_id}};
                      });
  const auto ask = [&](const std::string& target) {
    auto answer = std::make_shared<RecordedAnswer>();
    handler.handle(get_request(target), answer);
    return answer;
  };
  const auto first = ask("/api/replay?step=2&prompt_id=hard");
  EXPECT_EQ(ask("/api/replay?step=2&prompt_id=easy")->status, 503);
  EXPECT_EQ(first->num_sent, 0);
  go_on.set_value();
  handler.close();
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(Json::parse(first->body), (Json{{"step", 2}, {"prompt", "hard"}}));
  const auto refused = ask("/api/replay?step=3&prompt_id=hard");
  handler.close();
  EXPECT_EQ(refused->status, 409);
  EXPECT_NE(refused->body.find("step 3 has no batch"), std::string::npos);
}

TEST(ViewHandlerReplay, SaysBeforehandWhatIsMissing) {
  const RunCase run;
  ViewHandler handler({run.path()}, "127.0.0.1", "",
                      [](const std::filesystem::path&, int64_t, const std::string&) { return Json(); });
  const auto problem = [&](int step) {
    const auto answer = std::make_shared<RecordedAnswer>();
    handler.handle(get_request("/api/group?prompt_id=hard&step=" + std::to_string(step)), answer);
    return Json::parse(answer->body).at("replay_problem");
  };
  const std::filesystem::path batches = run.path() / "batches";
  EXPECT_TRUE(problem(1).get<std::string>().starts_with("step 1 has no batch in ")) << problem(1);
  EXPECT_NE(problem(1).get<std::string>().find("/batches, which holds none;"), std::string::npos);
  std::filesystem::create_directories(batches);
  write_text(batches / "step-00000001.batch", "");
  write_text(batches / "step-00000003.batch", "");
  EXPECT_TRUE(problem(1).is_null());  // its weights are those of the start
  EXPECT_NE(problem(2).get<std::string>().find("holds those of 2 steps from 1 to 3"), std::string::npos);
  EXPECT_NE(problem(3).get<std::string>().find("checkpoints/step-00000002 is missing"), std::string::npos);
  std::filesystem::create_directories(run.path() / "checkpoints/step-00000002");
  EXPECT_TRUE(problem(3).is_null());
}

TEST_F(ViewHandlerTest, FiltersAndSortsCompletions) {
  const Json page = json("/api/completions?reward_to=0&sort=step&descending=1&limit=3");
  EXPECT_EQ(page["total"], 28);
  EXPECT_EQ(page["matched"], 10);
  ASSERT_EQ(page["rows"].size(), 3u);
  EXPECT_EQ(page["rows"][0]["step"], 6);
  EXPECT_EQ(page["rows"][0]["prompt_id"], "never");
  EXPECT_EQ(page["rows"][0]["completion"], "no idea");
  EXPECT_EQ(page["rows"][0]["prompt"], "What is the answer to never?");
  EXPECT_EQ(page["rows"][2]["step"], 3);
  const Json found = json("/api/completions?text=NO+IDEA");
  EXPECT_EQ(found["matched"], 4);
  EXPECT_EQ(found["is_complete"], true);
  EXPECT_EQ(found["num_searched"], 28);
  EXPECT_EQ(json("/api/completions?text=no+idea&sort=step&descending=1")["rows"][0]["step"], 6);
  run_.add(completion_line(6, "never", 2, 0.0, "no idea"));
  run_.write();
  handler_.follow();
  EXPECT_EQ(json("/api/completions?text=no+idea")["matched"], 5);
}

TEST_F(ViewHandlerTest, SearchesAnewInARunThatWentBack) {
  EXPECT_EQ(json("/api/completions?text=42")["matched"], 6);
  std::string completions = read_text(run_.path() / "completions.jsonl");
  for (size_t at; (at = completions.find("= 42")) != std::string::npos;) completions.replace(at, 4, "= 7");
  write_text(run_.path() / "completions.jsonl", completions);
  handler_.follow();
  const Json found = json("/api/completions?text=42");
  EXPECT_EQ(found["matched"], 0);
  EXPECT_EQ(found["num_searched"], 28);
}

TEST_F(ViewHandlerTest, ShowsTokens) {
  EXPECT_FALSE(json("/api/completion?index=0")["tokens_problem"].get<std::string>().empty());
  run_.add_final();
  const Json completion = json("/api/completion?run=0&index=0");
  EXPECT_FALSE(completion.contains("tokens_problem"));
  EXPECT_EQ(completion["prompt_id"], "easy");
  ASSERT_FALSE(completion["tokens"].empty());
  EXPECT_EQ(completion["tokens"][0]["text"], "1");
  EXPECT_EQ(completion["tokens"][0]["logprob"], -0.25);
  EXPECT_EQ(ask("/api/completion?index=28").status, 404);
  EXPECT_EQ(ask("/api/completion?index=-1").status, 400);
}

TEST_F(ViewHandlerTest, ShowsLongCompletionsWithoutTheirTokens) {
  run_.add_final();
  for (const int64_t count : {200'000, 150'000, 100'000}) {
    Json line = completion_line(7, "long", 0, 1.0, "1");
    line["completion_ids"] = std::vector<int32_t>(static_cast<size_t>(count), 7);
    line["logprobs"] = std::vector<double>(static_cast<size_t>(count), -0.25);
    run_.add(line);
  }
  run_.write();
  handler_.follow();
  const Json samples = json("/api/group?step=7&prompt_id=long")["samples"];
  EXPECT_EQ(samples[0]["tokens"].size(), 200'000u);
  EXPECT_TRUE(samples[1]["tokens"].empty());
  EXPECT_NE(samples[1]["tokens_problem"].get<std::string>().find("150000"), std::string::npos);
  EXPECT_EQ(samples[2]["tokens"].size(), 100'000u);
}

TEST_F(ViewHandlerTest, ShowsGroupsAndPrompts) {
  const Json group = json("/api/group?step=4&prompt_id=hard");
  EXPECT_EQ(group["prompt"], "What is the answer to hard?");
  ASSERT_EQ(group["samples"].size(), 2u);
  EXPECT_EQ(group["samples"][1]["sample"], 1);
  EXPECT_EQ(group["previous_step"], 3);
  EXPECT_EQ(group["next_step"], 5);
  const Json first = json("/api/group?step=1&prompt_id=never");
  EXPECT_TRUE(first["previous_step"].is_null());
  EXPECT_EQ(first["next_step"], 6);
  EXPECT_TRUE(json("/api/group?step=6&prompt_id=never")["next_step"].is_null());
  EXPECT_EQ(ask("/api/group?step=2&prompt_id=never").status, 404);
  const Json prompt = json("/api/prompt?prompt_id=hard");
  ASSERT_EQ(prompt["steps"].size(), 6u);
  EXPECT_EQ(prompt["steps"][0]["mean_reward"], 0.0);
  EXPECT_EQ(prompt["steps"][5]["mean_reward"], 1.0);
  EXPECT_EQ(prompt["steps"][5]["samples"][0]["completion"], "6 * 7 = 42");
  const Json prompts = json("/api/prompts?limit=2");
  EXPECT_EQ(prompts["total"], 3);
  EXPECT_EQ(prompts["rows"][0]["prompt_id"], "easy");
  EXPECT_EQ(prompts["rows"][1]["count"], 12);
  EXPECT_EQ(prompts["rows"][1]["first_reward"], 0.0);
  EXPECT_EQ(prompts["rows"][1]["last_reward"], 1.0);
  EXPECT_EQ(json("/api/prompts?offset=2")["rows"][0]["count"], 4);
}

TEST_F(ViewHandlerTest, CountsRewardStatuses) {
  const Json rewards = json("/api/rewards?step_to=3")["rewards"];
  ASSERT_EQ(rewards.size(), 1u);
  EXPECT_EQ(rewards[0]["name"], "accuracy");
  EXPECT_EQ(rewards[0]["counts"]["unparsed"], 1);
  EXPECT_EQ(rewards[0]["counts"]["ok"], 13);  // of 14 completions in three steps
  EXPECT_EQ(rewards[0]["p50"]["steps"], (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(rewards[0]["p90"]["steps"], Json::array());
}

TEST_F(ViewHandlerTest, LaysOutAStepInTime) {
  const Json timeline = json("/api/timeline?step=2");
  EXPECT_EQ(timeline["seconds"], 10.0);
  EXPECT_EQ(timeline["memory_gb"], 0.5);
  EXPECT_TRUE(timeline["planned_gb"].is_null());
  const Json expected = Json::parse(
      R"([{"name":"gen","from_s":0.0,"seconds":4.0},{"name":"gen/prefill","from_s":0.0,"seconds":0.5},
    {"name":"gen/decode","from_s":0.5,"seconds":3.0},{"name":"reward","from_s":4.0,"seconds":1.0},
    {"name":"update_actor","from_s":5.0,"seconds":3.0},{"name":"other","from_s":8.0,"seconds":2.0}])");
  EXPECT_EQ(timeline["parts"], expected);
  EXPECT_EQ(json("/api/timeline")["step"], 6);
  EXPECT_EQ(ask("/api/timeline?step=7").status, 404);
}

TEST_F(ViewHandlerTest, ComparesRunsAndFindsProblems) {
  EXPECT_TRUE(json("/api/findings").is_array());
  EXPECT_TRUE(json("/api/diff?a=0&b=0").contains("settings"));
  EXPECT_EQ(ask("/api/diff?a=0").status, 400);
}

TEST_F(ViewHandlerTest, FollowsTheRun) {
  const auto page = std::make_shared<RecordedAnswer>();
  handler_.handle(get_request("/events"), page);
  EXPECT_EQ(page->stream, "retry: 2000\n\ndata: {\"run\":0,\"step\":6,\"version\":1}\n\n");
  page->stream.clear();
  handler_.follow();
  EXPECT_EQ(page->stream, "");
  run_.add_step(7);
  run_.write();
  handler_.follow();
  EXPECT_EQ(page->stream, "data: {\"run\":0,\"step\":7,\"version\":2}\n\n");
  EXPECT_EQ(json("/api/completions")["total"], 32);
  page->closed();
  run_.add_step(8);
  run_.write();
  page->stream.clear();
  handler_.follow();
  EXPECT_EQ(page->stream, "");
  EXPECT_EQ(json("/api/runs")[0]["is_finished"], true);
}

TEST_F(ViewHandlerTest, OutlivesDamagedRecords) {
  const std::string whole = read_text(run_.path() / "metrics.jsonl");
  write_text(run_.path() / "metrics.jsonl", "{\"step\": oh\n");
  handler_.follow();
  const RecordedAnswer answer = ask("/api/figures?name=reward");
  EXPECT_EQ(answer.status, 500);
  EXPECT_NE(answer.body.find("metrics.jsonl"), std::string::npos) << answer.body;
  EXPECT_EQ(ask("/api/runs").status, 200);
  write_text(run_.path() / "metrics.jsonl", whole);
  handler_.follow();
  EXPECT_EQ(ask("/api/figures?name=reward").status, 200);
  std::filesystem::remove_all(run_.path());
  handler_.follow();
  EXPECT_EQ(ask("/api/completions").status, 500);
}

TEST_F(ViewHandlerTest, RefusesWhatItDoesNotKnow) {
  for (const char* path :
       {"/api/nothing", "/assets/../view_server.h", "/assets/", "/index.html", "/../etc/passwd", ""})
    EXPECT_EQ(ask(path).status, 404) << path;
  EXPECT_EQ(ask("/api/runs?colour=1").status, 400);
  EXPECT_EQ(ask("/api/run?run=1").status, 400);
  IncomingRequest post = get_request("/api/runs");
  post.method = "POST";
  EXPECT_EQ(ask(post).status, 405);
}

TEST_F(ViewHandlerTest, AnswersItsOwnNamesAlone) {
  for (const char* host : {"localhost:80", "127.0.0.1", "[::1]:8080", "LOCALHOST"})
    EXPECT_EQ(ask(get_request("/api/runs", host)).status, 200) << host;
  for (const char* host :
       {"evil.example", "127.0.0.1.evil.example", "127.evil.example:80", "", "[::2]", "0.0.0.0"})
    EXPECT_EQ(ask(get_request("/api/runs", host)).status, 403) << host;
}

TEST_F(ViewHandlerTest, ForbidsScriptsFromElsewhere) {
  RecordedAnswer answer = ask("/api/runs");
  EXPECT_EQ(answer.headers["X-Content-Type-Options"], "nosniff");
  EXPECT_EQ(answer.headers["Referrer-Policy"], "no-referrer");
  EXPECT_EQ(answer.headers["Cache-Control"], "no-store");
  EXPECT_TRUE(
      answer.headers["Content-Security-Policy"].starts_with("default-src 'self'; script-src 'self';"));
  EXPECT_EQ(ask("/").headers["Content-Security-Policy"], answer.headers["Content-Security-Policy"]);
}

TEST_F(ViewHandlerTest, GivesThePage) {
  RecordedAnswer page = ask("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(page.body, read_text(std::filesystem::path(COHORT_SOURCE_DIR) / "cohort/view/page/index.html"));
  IncomingRequest again = get_request("/");
  again.headers["if-none-match"] = page.headers["ETag"];
  EXPECT_EQ(ask(again).status, 304);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(COHORT_SOURCE_DIR) / "cohort/view/page")) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".js" || ending == ".css" || ending == ".svg") {
      EXPECT_EQ(ask("/assets/" + entry.path().filename().string()).body, read_text(entry.path()));
    }
  }
}

TEST(ViewHandlerToken, AsksForTheToken) {
  const RunCase run;
  ViewHandler handler({run.path()}, "192.0.2.7", "secret");
  const auto ask = [&](IncomingRequest request) {
    const auto answer = std::make_shared<RecordedAnswer>();
    handler.handle(request, answer);
    return *answer;
  };
  EXPECT_EQ(ask(get_request("/api/runs", "192.0.2.7:80")).status, 401);
  EXPECT_EQ(ask(get_request("/api/runs?token=secre", "192.0.2.7:80")).status, 401);
  EXPECT_EQ(ask(get_request("/", "192.0.2.7:80")).status, 401);
  EXPECT_EQ(ask(get_request("/api/runs?token=secret", "evil.example")).status, 403);
  RecordedAnswer entry = ask(get_request("/?token=secret&run=1", "192.0.2.7:80"));
  EXPECT_EQ(entry.status, 303);
  EXPECT_EQ(entry.headers["Location"], "/?run=1");
  EXPECT_EQ(entry.headers["Set-Cookie"], "cohort_view_c020c951=secret; Path=/; HttpOnly; SameSite=Lax");
  IncomingRequest with_cookie = get_request("/api/runs", "192.0.2.7:80");
  with_cookie.headers["cookie"] = "other=1; cohort_view_c020c951=secret";
  EXPECT_EQ(ask(with_cookie).status, 200);
  IncomingRequest with_bearer = get_request("/metrics", "localhost");
  with_bearer.headers["authorization"] = "Bearer secret";
  EXPECT_EQ(ask(with_bearer).status, 200);
}

}  // namespace
}  // namespace cohort
