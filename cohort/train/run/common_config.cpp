#include "cohort/train/run/common_config.h"

#include "cohort/core/error.h"

namespace cohort {

void describe(FieldVisitor& f, LoraConfig& lora) {
  f("path", lora.path,
    "PEFT directory of an adapter to go on with, such as the `final` of an earlier run: its weights and its "
    "settings, so that no other key but `dropout` is needed. The reference is the model with that adapter.",
    OnResume::kSameFiles);
  f("r", lora.r, "Rank of the adapters; 0 trains the whole model.", at_least(0));
  f("alpha", lora.alpha, "An adapter adds alpha / r times its product.", above(0.0));
  f("dropout", lora.dropout,
    "Share of an adapter's inputs left out, in supervised training only: sampler and trainer share one "
    "forward.",
    between(0.0, 0.99));
  f("target_modules", lora.target_modules,
    "Ends of the names of the adapted modules, such as q_proj; all-linear takes all but the head.");
  f("exclude_modules", lora.exclude_modules, "Ends of names that are left out again.");
  f("use_rslora", lora.use_rslora, "Scale by alpha / sqrt(r) (arXiv:2312.03732).");
  f("use_dora", lora.use_dora, "Train the length of each output's weight, too (DoRA, arXiv:2402.09353).");
  f("rank_pattern", lora.rank_pattern, "Other ranks: regular expression of the ends of names = r.",
    at_least(1));
  f("alpha_pattern", lora.alpha_pattern, "Other alphas, in the same way.", above(0.0));
  f("modules_to_save", lora.modules_to_save,
    "Modules trained whole beside the adapters: embed_tokens, lm_head.");
}

void ModelConfig::describe(FieldVisitor& f) {
  f("path", path,
    "Hugging Face directory of the model to start from, or its id on the Hub if the local cache holds it; "
    "required.",
    OnResume::kSameFiles);
  f("dtype", dtype, "Type to compute in; weights and optimizer state are kept in float32.",
    one_of({"float32", "bfloat16"}));
  f("device", device, "Where tensors live.", one_of({"cpu", "cuda"}));
  f("chat_template", chat_template, kChatTemplateMeaning);
}

void DataSourceConfig::describe(FieldVisitor& f) {
  f("path", path, "JSONL files or patterns, as in `data.path`.", OnResume::kTaken);
  f("weight", weight,
    "Share of the rows drawn, relative to the other sources'; by number of rows when unset.", above(0.0));
  f("domain", domain, "Tag: the column `domain` of these rows.");
  f("columns", columns, "As `data.columns`, whose entries hold where this has none.");
}

void RowsConfig::describe_path(FieldVisitor& f, const char* lines) {
  f("path", path,
    str("JSONL files, plain, gzip or zstd, or patterns such as `data/*.jsonl.gz`: ", lines,
        "; required unless there is a `[[data.source]]`.")
        .c_str(),
    OnResume::kTaken);
}

void RowsConfig::describe_rows(FieldVisitor& f, const char* split_meaning) {
  f("columns", columns,
    "Columns under other names, such as {prompt = \"question\"}: the name here, then the file's, which may "
    "be a path into nested columns (`reward_model.ground_truth`).");
  f("system_prompt", system_prompt, kSystemPromptMeaning);
  f("chat_template_kwargs", chat_template_kwargs, kTemplateKwargsMeaning);
  f("test_split_size", test_split_size, split_meaning, at_least_below(0.0, 1.0));
  f("deduplicate", deduplicate,
    "Leave out rows whose prompt, or all of whose columns, came before: told by a 64-bit hash.",
    one_of({"none", "prompt", "row"}));
  f("max_prompt_length", max_prompt_length, "Longest prompt, in tokens; longer ones are an error.",
    at_least(1));
  f("filter_overlong_prompts", filter_overlong_prompts,
    "Leave out and count rows longer than `max_prompt_length` or the model's context, instead of refusing.");
  f("shuffle_dataset", shuffle_dataset, "Draw a fresh order for every epoch; otherwise the files' order.");
  f("source", source, "A part of a mixture, in place of `data.path`; the table is given once for each.");
}

void DataConfig::describe(FieldVisitor& f) {
  describe_path(f, "a `prompt` per line; other columns reach the rewards");
  describe_held_out_rows(f);
}

void HeldOutRowsConfig::describe_held_out_rows(FieldVisitor& f) {
  f("eval_path", eval_path, "Held-out JSONL files of the same form, evaluated every `train.eval_steps`.",
    OnResume::kTaken);
  describe_rows(f,
                "Share of the prompts, chosen by hash, that is held out and evaluated every "
                "`train.eval_steps`; adding rows moves none.");
}

void LengthKey::describe_max_length(FieldVisitor& f, const char* meaning) {
  f("max_length", max_length, meaning, at_least(2));
}

void LoopKeys::describe_length(FieldVisitor& f) {
  f("max_steps", max_steps, "Steps to run; with `num_train_epochs` too, whichever ends first.", at_least(1),
    OnResume::kTaken);
  f("num_train_epochs", num_train_epochs, "Passes over the data; with `max_steps` too, whichever ends first.",
    above(0.0), OnResume::kTaken);
}

void LoopKeys::describe_memory(FieldVisitor& f) {
  describe_memory(f,
                  "Rows (tokens) forwarded and backpropagated at once; a sequence, or a pair, stays whole. "
                  "Bounds memory, and changes results by rounding alone.",
                  at_least(1));
}

void LoopKeys::describe_memory(FieldVisitor& f, const char* microbatch_meaning, const Limits& limits) {
  f("tokens_per_microbatch", tokens_per_microbatch, microbatch_meaning, limits, OnResume::kTaken);
  f("recompute", recompute,
    "Keep only each layer's input and compute the rest again in the backward pass: less memory, more time.",
    OnResume::kTaken);
}

void LoopKeys::describe_saving(FieldVisitor& f) {
  f("save_steps", save_steps, "Steps between checkpoints; 0 writes one at the end only.", at_least(0),
    OnResume::kTaken);
  f("save_total_limit", save_total_limit, "Checkpoints kept, the newest ones; the best one is kept besides.",
    at_least(1), OnResume::kTaken);
  f("max_nonfinite_steps", max_nonfinite_steps,
    "Steps in a row with a non-finite loss or gradient, each skipped, that stop the run.", at_least(1),
    OnResume::kTaken);
}

void BalanceKeys::describe_balance(FieldVisitor& f) {
  f("router_aux_loss_coef", router_aux_loss_coef,
    "Weight of the load-balancing loss of mixtures of experts (arXiv:2101.03961 eq. 4), per completion and "
    "layer.",
    at_least(0.0));
}

void EvaluationKeys::describe_start(FieldVisitor& f, const char* steps_meaning) {
  f("eval_steps", eval_steps, steps_meaning, at_least(0), OnResume::kTaken);
  f("eval_on_start", eval_on_start,
    "Evaluate before the first step, too: the line of step 0 in metrics.jsonl.", OnResume::kTaken);
}

void EvaluationKeys::describe_choice(FieldVisitor& f) {
  f("metric_for_best_model", metric_for_best_model,
    "The `eval_` metric that decides the best model and early stopping. Larger is better, but for names that "
    "end in `loss`; the evaluation's own score when empty (docs/runs.md).",
    OnResume::kTaken);
  f("early_stopping_patience", early_stopping_patience,
    "Evaluations in a row without a better `metric_for_best_model` after which the run ends; 0 never ends "
    "it.",
    at_least(0), OnResume::kTaken);
}

void EvaluationKeys::describe_evaluation(FieldVisitor& f) {
  describe_start(f, "Steps between evaluations on the held-out rows; 0 never evaluates.");
  describe_choice(f);
}

void RunKeys::describe_dir(FieldVisitor& f) {
  f("dir", dir, "Directory for everything the run writes; required.", OnResume::kTaken);
}

}  // namespace cohort
