// The web page of one run or many: an HTTP server of one thread over the records of runs. It writes nothing.
//
// Answers are JSON unless said otherwise. `run` counts the runs from 0. Errors: {"error": {"message": ...}}
// with 400 for a bad parameter (which the message names), 401 without the token, 404, and 500 with the
// FormatError of a damaged file.
//
//   GET /
//        the page; /assets/NAME its scripts and styles
//   GET /api/runs
//        [{run, name, path, step, max_steps, is_finished, started, kind, model, preset, seed}]
//   GET /api/run?run=
//        {recipe: config.toml as nested objects, changes: [...], rollbacks: [...], plan: {...} or null}
//   GET /api/metrics?run=
//        [{name, section, definition, denominator, healthy, otherwise}], one for each figure of the run
//   GET /api/figures?run=&name=&name=...
//        {version, figures: {name: {steps: [...], values: [...]}}}; null for NaN
//   GET /api/completions?run=&...
//        {total, matched, offset, rows: [...], is_complete, num_searched}. Parameters:
//        - step_from, step_to, reward_from, reward_to, tokens_from, tokens_to, advantage_from, advantage_to
//        - prompt_id: the exact one
//        - flag: cut, masked, untrained, failed, injected, demonstration, environment; several mean all of
//          them
//        - text: in prompt or completion, no matter the case. A search stops after half a second:
//          `is_complete` is then false, `num_searched` counts the completions that it has seen, and `matched`
//          and `rows` are what it has found among them. The same request goes on with it.
//        - sort: order, step, reward, advantage, tokens, sample, prompt (as prompts first came);
//          descending: 1; offset, limit (<= 500)
//        A row is {index, step, sample, prompt_id, reward, advantage, tokens, flags: [...], prompt,
//        completion}; its texts are cut to 300 bytes at a character's end.
//   GET /api/completion?run=&index=
//        the whole line of completions.jsonl with `tokens`: [{text, logprob, advantage, injected}], if the
//        run's tokenizer can be read; `tokens_problem` says why not
//   GET /api/group?run=&step=&prompt_id=
//        {step, prompt_id, prompt, previous_step, next_step, replay_problem, samples: [as /api/completion]};
//        previous_step and next_step drew the prompt, too, null if there is none. `replay_problem` says why
//        /api/replay can't answer; null if the run has the files that it needs
//   GET /api/replay?run=&step=&prompt_id=
//        {samples: [{sample, branch, gradient_share, tokens: [{place, entropy, gradient, ratio, clipped}]}],
//        ratio_problem}, recomputed with the model. `gradient`: SampleGradient::tokens of grpo/replay.h.
//        Without a checkpoint of the step there are no ratios, and `ratio_problem` says so. 409 with the
//        reason if the run keeps no batch of the step or no checkpoint before it, 503 while another is
//        computed
//   GET /api/prompt?run=&prompt_id=
//        {prompt_id, num_steps, steps: [{step, mean_reward, samples: [{index, reward, completion}]}]}: at
//        most 200 steps, spread evenly
//   GET /api/prompts?run=&offset=&limit=
//        {total, rows: [{prompt_id, count, first_step, last_step, first_reward, last_reward}]}, the most
//        drawn first
//   GET /api/rewards?run=&step_from=&step_to=
//        {rewards: [{name, counts: {ok, unparsed, ...}, p50: {steps, values}, p90: ..., p99: ...}]}
//   GET /api/timeline?run=&step=
//        {step, seconds, parts: [{name, from_s, seconds}], memory_gb, planned_gb}
//   GET /api/findings?run=
//        what `cohort explain RUN` says: [{rule, level, text, advice, metrics, samples}]
//   GET /api/diff?a=&b=
//        to_json(RunDiff) of explain/run_diff.h
//   GET /events
//        text/event-stream: `data: {"run": 0, "step": 12, "version": 34}` after each change
//   GET /metrics
//        Prometheus text: the newest value of each figure of each run
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/core/json.h"

namespace cohort {

/// What the tokens of a group are under the weights before and after a step; see /api/replay. Throws
/// UserError if the run does not keep what it needs. Called on a thread of its own, one call at a time.
using ReplayFunction =
    std::function<Json(const std::filesystem::path& run, int64_t step, const std::string& prompt_id)>;

struct ViewOptions {
  std::string host = "127.0.0.1";
  int64_t port = 0;  ///< 0 takes a free one
  /// Empty: no token is asked for. Given as ?token= once (a cookie keeps it) or as a bearer token.
  std::string token{};
  ReplayFunction replay{};  ///< empty: there is no /api/replay
};

/// Serves until it is destroyed. Runs that go on are followed.
class ViewServer {
 public:
  /// Opens the runs and listens. Throws ConfigError for a directory without a run and for an address that
  /// cannot be used, and FormatError for damaged records.
  ViewServer(const std::vector<std::filesystem::path>& runs, const ViewOptions& options);
  ~ViewServer();

  /// Where the page is, with the token if there is one.
  std::string address() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cohort
