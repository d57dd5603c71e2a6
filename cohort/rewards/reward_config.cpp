#include "cohort/rewards/reward_config.h"

namespace cohort {

void RewardConfig::describe(FieldVisitor& f) {
  f("name", name, "Name in the metrics; the kind of reward too when `type` is empty.");
  f("type", type, "Kind of reward, such as accuracy, python or model: a type of docs/rewards.md.");
  f("weight", weight, "Factor in the weighted sum of a completion's rewards; 0 only logs it.");
  f("weight_at", weight_at,
    "In place of `weight`: its value at these steps, such as {1 = 0.0, 100 = 1.0}, with straight lines "
    "between them; evaluations use the last one.");
  f("checks", checks,
    "The reward that this one, which has weight 0 and never trains, is held against: logs "
    "`rewards/NAME/gap`.");
  f("requires", required,
    "Another reward of the recipe: where that one is below 1 the score is 0, such as accuracy without "
    "format.");
  f("domains", domains,
    "The reward applies to rows whose column `domain` is one of these; to all when empty.");
  f("clip_min", clip_min, "Scores below count as this.");
  f("clip_max", clip_max, "Scores above count as this.");
  f("command", command,
    "For `command`: a program that answers one JSON line with one JSON line (docs/rewards.md), as a list of "
    "words or as one text that /bin/sh runs. For `code`: what runs {source}, or {program} where it is "
    "compiled.");
  f("function", function,
    "For `python`: \"FILE.py:NAME\" or \"MODULE:NAME\", called as TRL calls reward functions.");
  f("timeout_s", timeout_s,
    "For `command` and `python`: seconds for one request, the start of its program included, 10 when unset; "
    "later answers count as timeout. For `http` and `judge`: seconds for one request with its retries, 10 "
    "and 60 "
    "when unset. For `code`: wall time of one test, 2 when unset.",
    above(0.0), OnResume::kTaken);
  f("answer_places", answer_places,
    "For `accuracy`: where the answer is looked for, in this order: tag, boxed, phrase, expression (the "
    "default when empty).");
  f("rounded_gold", rounded_gold,
    "For `accuracy`: a decimal reference such as 33.3 also equals what rounds to it, such as 100/3.");
  f("tags", tags,
    "For `format` and `tag_count`: the sections of a completion, in order; think and answer when empty.");
  f("column", column,
    "For `string_check`, `text_similarity`, `numeric` and `choice`: the data's column with the reference; "
    "`answer` when empty. For `json_schema`: the column with the schema; `schema` when empty.");
  f("operation", operation,
    "For `string_check`: equal, unequal, or the reference is contained, in any case of letters for ilike; eq "
    "when empty.",
    one_of({"", "eq", "ne", "like", "ilike"}));
  f("pattern", pattern, "For `regex`: PCRE2's syntax; a match anywhere in the completion scores 1.");
  f("choices", choices,
    "For `choice`: the letters that are choices, in order; those of the row's `choices`, or A to J, when "
    "empty.");
  f("schema", schema,
    "For `json_schema`: the schema of all rows, as JSON or as the name of a file; that of the row's column "
    "when empty.");
  f("metric", metric, "For `text_similarity`; rouge_l when empty.",
    one_of({"", "exact", "fuzzy_match", "bleu", "chrf", "rouge_l"}));
  f("schedule", schedule, "For `length`: linear, cosine or target; linear when empty.",
    one_of({"", "linear", "cosine", "target"}));
  f("correctness", correctness,
    "For `length`, cosine: the reward whose 1 means that a completion is right; accuracy when empty.");
  f("language", language,
    "For `code`: python (when empty), bash, c, cpp, or any other with its `command`. For "
    "`language_consistency`: a code such "
    "as en; that of the prompt when empty.");
  f("compile", compile, "For `code`: the command that makes {program} of {source}.");
  f("memory_mb", memory_mb, "For `code`: MiB for one test, 256 when unset.", at_least(16));
  f("all_tests", all_tests, "For `code`: 1 when all tests pass, else 0; not the share that passes.");
  f("workers", workers,
    "For `code`: tests at a time, one for each core when unset. For `command` and `python`: programs at a "
    "time, 1 when unset. For `http` and `judge`: requests at a time, 4 and 8 when unset.",
    between(1, 1024), OnResume::kTaken);
  f("batch_size", batch_size,
    "For `command`, `python` and `http`: completions in one request at most, 8 when unset.",
    between(1, 65536), OnResume::kTaken);
  f("runtime", runtime,
    "For `code`: more files and folders that programs may read and execute; Python looks there for modules.",
    OnResume::kTaken);
  f("waive_layers", waive_layers,
    "For `code`: layers of the sandbox that may be missing (docs/sandbox.md); by default all must hold.",
    OnResume::kTaken);
  f("prelude", prelude,
    "For `code`, Python: code that runs before every program, such as imports. When empty, programs whose "
    "tests call a method of class Solution get what judges import; \"none\" gives them nothing.");
  f("tolerance", tolerance,
    "For `code`: how far a float may be off that a program prints or returns, 1e-6 and 1e-9 when unset; 0 "
    "compares exactly. A test's own `tolerance` counts first.",
    at_least(0.0));
  f("min_length", min_length, "For `length`: the shortest length, in tokens; 0 when unset.", at_least(0));
  f("max_length", max_length, "For `length`: the longest length, in tokens; required.", at_least(1));
  f("max_completion_length", max_completion_length,
    "For `soft_overlong`: tokens from which the reward is -1; required. For `judge` with `path`: tokens of "
    "an "
    "answer at most, 512 when unset.",
    at_least(1));
  f("soft_punish_cache", soft_punish_cache,
    "For `soft_overlong`: tokens before max_completion_length over which the reward falls; required.",
    at_least(1));
  f("ngram_size", ngram_size, "For `repetition`: tokens of an n-gram, 3 when unset.", at_least(1));
  f("absolute_tolerance", absolute_tolerance, "For `numeric`: how far a number may be off, 0 when unset.",
    at_least(0.0));
  f("relative_tolerance", relative_tolerance,
    "For `numeric`: the same as a share of the reference, 1e-9 when unset, and 0 between integers.",
    at_least(0.0));
  f("max_penalty", max_penalty, "For `repetition`: reward where all n-grams repeat, -1 when unset.",
    between(-1e6, 0.0));
  f("url", url,
    "For `http`: the address that batches are posted to. For `judge`: that of an OpenAI-compatible server, "
    "such as "
    "https://HOST/v1. Redirects are not followed.",
    OnResume::kTaken);
  f("api_key_env", api_key_env,
    "For `http` and `judge`: the environment variable that holds the API key, which is sent as a bearer "
    "token and "
    "never written down; none when empty.",
    OnResume::kTaken);
  f("retries", retries,
    "For `http` and `judge`: further attempts of a request that found no server, status 408 or 429 or one of "
    "500 and "
    "above; 2 when unset.",
    between(0, 20), OnResume::kTaken);
  f("model", model, "For `judge` with `url`: the model's name on the server; required.");
  f("rubric", rubric,
    "For `judge`: what it is asked, with {prompt}, {completion} and {COLUMN}, or @FILE; a general one when "
    "empty.");
  f("criteria", criteria, "For `judge`: what it scores, each by its own number; quality when empty.");
  f("max_score", max_score, "For `judge`: the best score of a criterion, 10 when unset; 0 is the worst.",
    between(1, 1000));
  f("votes", votes, "For `judge`: how often it is asked about a completion, 1 when unset.", between(1, 100));
  f("temperature", temperature,
    "For `judge`: the sampling temperature; when unset the server's own, and 0, which is greedy, with "
    "`path`.",
    between(0.0, 2.0));
  f("requests_per_minute", requests_per_minute,
    "For `judge`: requests in any 60 seconds at most; no limit when unset.", at_least(1), OnResume::kTaken);
  f("tokens_per_minute", tokens_per_minute,
    "For `judge`: tokens, of requests and answers, in any 60 seconds at most; no limit when unset.",
    at_least(1), OnResume::kTaken);
  f("cache_dir", cache_dir,
    "For `judge`: a folder where its answers are kept and never asked for twice; none when empty.",
    OnResume::kTaken);
  f("path", path,
    "For `model` and `process`: the Hugging Face directory of the reward model; required. For `judge`: that "
    "of a language model, which needs no server.",
    OnResume::kSameFiles);
  f("dtype", dtype,
    "For `model`, `process` and `judge` with `path`: what it computes in; float32 when empty.",
    one_of({"", "float32", "bfloat16"}));
  f("label", label,
    "For `model` and `process`: which of several labels is the reward, by name or number; required for "
    "three and more, and for `model` for two.");
  f("step_separator", step_separator,
    "For `process`: what ends a step; a line's end when empty. The one that the model was trained with.");
  f("aggregation", aggregation,
    "For `process`: which of the steps' rewards is the completion's score; min when empty.",
    one_of({"", "min", "mean", "last"}));
}

}  // namespace cohort
