#!/usr/bin/env bash
# The main job, end to end: a tiny model is warm-started on demonstrations of countdown, half of which miss the
# target, then trained on further problems by GRPO, which sees the reward alone; held-out accuracy before and after,
# problems that were and were not learnt, and a report. SEED=2 tools/demo.sh repeats it with another seed, CONFIG=config.json RUN=folder with
# another model.
set -euo pipefail
cd "$(dirname "$0")/.."
cohort=build/cohort
seed=${SEED:-1}
config=${CONFIG:-recipes/demo/config.json}
run=${RUN:-runs/demo-$seed}
rm -rf "$run"
mkdir -p "$run"

say() { printf '\n== %s\n' "$*"; }
judge() { # judge NAME MODEL: accuracy and format on the held-out problems, over four completions of each
  "$cohort" eval --model "$2" --input "$run/test.jsonl" --reward countdown --num-generations 4 \
    --max-completion-length 64 --output "$run/$1-accuracy.json"
  "$cohort" eval --model "$2" --input "$run/test.jsonl" --reward format --num-generations 4 \
    --max-completion-length 64 --output "$run/$1-format.json"
}
mean() { python3 -c "import json, sys; print(f\"{100 * json.load(open(sys.argv[1]))['mean']:.1f} %\")" "$1"; }
show() { # show BEFORE AFTER: problems that show what was learnt and what was not
  python3 - "$@" <<'END'
import json, sys

def problems(path):
    """The completions of each problem, those that are right first."""
    found = {}
    for row in map(json.loads, open(path)):
        found.setdefault(row["prompt_id"], []).append(row)
    return {name: sorted(rows, key=lambda row: -score(row)) for name, rows in found.items()}

score = lambda row: row["rewards"]["countdown"]["score"] or 0
is_right = lambda rows: sum(map(score, rows)) >= 3  # of four: luck alone seldom comes to that
is_wrong = lambda rows: sum(map(score, rows)) == 0
before, after = map(problems, sys.argv[1:])
kinds = {
    "right before and after": (is_right, is_right),
    "newly right": (is_wrong, is_right),
    "still wrong": (is_wrong, is_wrong),
    "no longer right": (is_right, is_wrong),
}
print("right: at least three of four completions; wrong: none of them")
for name, (then, now) in kinds.items():
    names = [each for each in before if then(before[each]) and now(after[each])]
    print(f"{len(names)} of {len(before)} problems are {name}" + ("; the first of them:" if names else "."))
    for each in names[:1]:
        print("   ", before[each][0]["prompt"].splitlines()[0])
        print("        before:", repr(before[each][0]["completion"]))
        print("        after: ", repr(after[each][0]["completion"]))
END
}

say "problems: 4000 with worked solutions, 8000 to practise on, 512 held out"
"$cohort" data countdown --count 4000 --seed "$seed" --split train --solution_success 0.5 \
  --output "$run/demonstrations.jsonl"
"$cohort" data countdown --count 8000 --seed $((seed + 100)) --split train --output "$run/train.jsonl"
"$cohort" data countdown --count 512 --seed "$seed" --split test --output "$run/test.jsonl"

say "warm start: supervised training of a random model on worked solutions, half of which miss the target"
"$cohort" init --config "$config" --tokenizer recipes/demo --seed "$seed" --output "$run/start"
"$cohort" sft recipes/demo/sft.toml --seed "$seed" --model.path "$run/start" --data.path "$run/demonstrations.jsonl" \
  --run-dir "$run/warm"
judge before "$run/warm/final"

say "GRPO: reward 1 for reaching the target"
"$cohort" train recipes/demo/grpo.toml --seed "$seed" --model.path "$run/warm/final" --data.path "$run/train.jsonl" \
  --run-dir "$run/grpo"
judge after "$run/grpo/final"

say "before: $(mean "$run/before-accuracy.json") right, $(mean "$run/before-format.json") well formed"
say "after: $(mean "$run/after-accuracy.json") right, $(mean "$run/after-format.json") well formed"
show "$run/before-accuracy.completions.jsonl" "$run/after-accuracy.completions.jsonl"
"$cohort" report "$run/grpo" --output "$run/report.html" --evaluation "$run/before-accuracy.json" \
  --evaluation "$run/after-accuracy.json" > /dev/null
say "the report of the run: file://$(realpath "$run/report.html")"
say "curves, completions and findings in a browser: $cohort view $run/grpo"
