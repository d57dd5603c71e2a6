#include "cohort/rewards/judge/judge_keys.h"

namespace cohort {

void JudgeKeys::describe(FieldVisitor& f) {
  describe_model(f);
  describe_questions(f);
  server.describe_requests(f);
}

void JudgeServerKeys::describe_url(FieldVisitor& f) {
  f("url", endpoint.url,
    "The address of an OpenAI-compatible server, such as https://HOST/v1. Redirects are not followed.",
    OnResume::kTaken);
}

void JudgeServerKeys::describe_model(FieldVisitor& f) {
  f("model", model, "With `url`: the model's name on the server; required.");
}

void JudgeKeys::describe_model(FieldVisitor& f) {
  server.describe_url(f);
  f("path", path, "The Hugging Face directory of a language model, in place of `url`: it needs no server.",
    OnResume::kSameFiles);
  server.describe_model(f);
  f("dtype", dtype, "With `path`: what it computes in; float32 when empty.",
    one_of({"", "float32", "bfloat16"}));
  server.endpoint.describe_api_key_env(f);
}

void JudgeKeys::describe_questions(FieldVisitor& f) {
  f("rubric", rubric,
    "What it is asked, with {prompt}, {completion} and {COLUMN}, or @FILE; a general one when empty.");
  f("criteria", criteria, "What it scores, each by its own number; quality when empty.");
  f("max_score", max_score, "The best score of a criterion, 10 when unset; 0 is the worst.",
    between(1, 1000));
  f("votes", votes, "How often it is asked about a completion, 1 when unset.", between(1, 100));
  f("temperature", server.temperature,
    "The sampling temperature; when unset the server's own, and 0, which is greedy, with `path`.",
    between(0.0, 2.0));
  f("max_completion_length", max_completion_length,
    "With `path`: tokens of an answer at most, 512 when unset.", at_least(1));
}

void JudgeServerKeys::describe_requests(FieldVisitor& f) {
  f("workers", workers, "Requests at a time, 8 when unset.", between(1, 1024), OnResume::kTaken);
  endpoint.describe_retries(f);
  f("timeout_s", endpoint.timeout_s, "Seconds for one request with its retries, 60 when unset.", above(0.0),
    OnResume::kTaken);
  f("requests_per_minute", requests_per_minute, "Requests in any 60 seconds at most; no limit when unset.",
    at_least(1), OnResume::kTaken);
  f("tokens_per_minute", tokens_per_minute,
    "Tokens, of requests and answers, in any 60 seconds at most; no limit when unset.", at_least(1),
    OnResume::kTaken);
  f("cache_dir", cache_dir, "A folder where its answers are kept and never asked for twice; none when empty.",
    OnResume::kTaken);
}

}  // namespace cohort
