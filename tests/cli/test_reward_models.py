"""Reward models and local judges: `cohort reward-train`, and the runs and commands that load them.

COHORT=build/cohort python3 tests/cli/test_reward_models.py
"""

import functools
import json
import shutil
import unittest

import cli_case
from cli_case import CliTest, must_run, read_lines, run, write_lines

setUpModule = cli_case.setUpModule


class RewardModelTest(CliTest):
    """Reward models trained from the program, and runs that are judged by them."""

    PAIRS = [{"prompt": f"{i} +", "chosen": f" {i} = {2 * i}", "rejected": f" {i} is"} for i in range(12)]
    STEPS = [
        {"prompt": f"{i}:", "completions": [f"{i} + 1", f"{i} - 1"], "labels": [True, i % 2 == 0]}
        for i in range(12)
    ]
    RECORDS = ("metrics.jsonl", "final/model.safetensors", "final/config.json")
    RECIPE = """
        [model]
        dtype = "float32"
        [optimizer]
        learning_rate = 1e-3
        [train]
        max_steps = 6
        rows_per_step = 4
        save_steps = 2
    """

    def train(self, name, rows, *options, command="reward-train", recipe=RECIPE):
        data = write_lines(self.folder / f"{name}-rows.jsonl", rows)
        path = self.folder / f"{name}.toml"
        path.write_text(recipe)
        run_dir = self.folder / f"reward-{name}"
        places = ("--model.path", self.model, "--data.path", data, "--run-dir", run_dir)
        result = self.cohort(command, path, *places, "--threads", 1, *options)
        self.assertEqual(result.stdout, f"{run_dir}\n")
        return run_dir

    def resume(self, run_dir, records, train):
        """Takes the newest checkpoint and the final model away and goes on."""
        expected = {record: (run_dir / record).read_bytes() for record in records}
        shutil.rmtree(max((run_dir / "checkpoints").iterdir()))
        shutil.rmtree(run_dir / "final")
        train("--resume")
        for record, content in expected.items():
            self.assertEqual((run_dir / record).read_bytes(), content, record)

    def test_both_heads_are_trained_and_resumed(self):
        for head, rows in (("model", self.PAIRS), ("process", self.STEPS)):
            with self.subTest(head=head):
                options = ("--head.type", head)
                run_dir = self.train(head, rows, *options)
                metrics = read_lines(run_dir / "metrics.jsonl")
                self.assertEqual(len(metrics), 6)
                names = {
                    "loss",
                    "accuracy",
                    "min_reward",
                    "mean_reward",
                    "max_reward",
                    "grad_norm",
                    "num_tokens",
                }
                self.assertLessEqual(names, set(metrics[0]))
                self.assertEqual("margin" in metrics[0], head == "model")
                self.assertLess(metrics[-1]["loss"], metrics[0]["loss"])
                kind = {"model": "Sequence", "process": "Token"}[head]
                config = json.loads((run_dir / "final/config.json").read_text())
                self.assertEqual(config["architectures"], [f"Qwen3For{kind}Classification"])
                again = functools.partial(self.train, head, rows, *options)
                self.resume(run_dir, self.RECORDS, again)

    def test_a_trained_model_goes_on_with_a_replay_of_old_rows(self):
        first = self.train("first", self.PAIRS)
        old = write_lines(self.folder / "old.jsonl", self.PAIRS)
        log = self.cohort(
            *(
                "reward-train",
                self.folder / "first.toml",
                "--model.path",
                first / "final",
                "--replay_path",
                old,
            ),
            *("--data.path", self.folder / "first-rows.jsonl", "--run-dir", self.folder / "second"),
        ).stderr
        self.assertIn("10% of the draws", log)
        self.assertIn("memory planned", log)

    def test_held_out_rows_choose_the_best_model(self):
        held_out = write_lines(self.folder / "held-out.jsonl", self.PAIRS[:5])
        run_dir = self.train("held", self.PAIRS, "--eval_path", held_out, "--eval_steps", 3)
        metrics = read_lines(run_dir / "metrics.jsonl")
        self.assertEqual(["eval_accuracy" in row for row in metrics], [False, False, True] * 2)
        self.assertTrue((run_dir / "best/model.safetensors").exists())

    GRPO = """
        [rollout]
        prompts_per_step = 2
        num_generations = 4
        max_completion_length = 12
        [[reward]]
        name = "outcome"
        type = "model"
        path = "{outcome}"
        [[reward]]
        name = "steps"
        type = "process"
        path = "{process}"
        step_separator = " "
        aggregation = "mean"
        [objective]
        loss_type = "grpo"
        [model]
        dtype = "float32"
        [optimizer]
        learning_rate = 1e-3
        [train]
        max_steps = 4
        save_steps = 2
    """

    def grpo(self, name, *options):
        recipe = self.GRPO.format(
            outcome=self.folder / "reward-judge/final", process=self.folder / "reward-judge-steps/final"
        )
        prompts = [{"prompt": text} for text in ("2 + 3 =", "a b c", "Numbers: 4 5", "the sum of")]
        return self.train(name, prompts, *options, command="train", recipe=recipe)

    def test_runs_judged_by_models(self):
        self.train("judge", self.PAIRS)
        self.train("judge-steps", self.STEPS, "--head.type", "process")
        for credit in ("sequence", "steps"):
            with self.subTest(credit=credit):
                options = ("--credit", credit)
                run_dir = self.grpo(f"run-{credit}", *options)
                rows = read_lines(run_dir / "completions.jsonl")
                for row in rows:
                    self.check_steps(row, credit == "steps")
                metrics = read_lines(run_dir / "metrics.jsonl")
                self.assertEqual(metrics[0]["frac_reward_zero_std"], 0)
                self.assertEqual(metrics[0]["rewards/steps/error"], 0)
                records = (*self.RECORDS, "completions.jsonl")
                again = functools.partial(self.grpo, f"run-{credit}", *options)
                self.resume(run_dir, records, again)

    def check_steps(self, row, is_process):
        cell = row["rewards"]["steps"]
        steps = cell["steps"]
        self.assertEqual(steps[-1]["end"], len(row["completion_ids"]))
        self.assertAlmostEqual(cell["score"], sum(step["score"] for step in steps) / len(steps), places=12)
        self.assertEqual("token_advantages" in row, is_process)
        if is_process:
            tokens = row["token_advantages"]
            self.assertEqual(len(tokens), len(row["completion_ids"]))
            # It changes behind the end of a step and nowhere else.
            changes = {i for i in range(1, len(tokens)) if tokens[i] != tokens[i - 1]}
            self.assertLessEqual(changes, {step["end"] for step in steps})

    def test_verify_and_eval_know_models(self):
        path = self.train("known", self.STEPS, "--head.type", "process") / "final"
        tables = self.folder / "known-rewards.toml"
        tables.write_text(f'[[reward]]\nname = "steps"\ntype = "process"\npath = "{path}"\n')
        rows = write_lines(self.folder / "known.jsonl", [{"prompt": "3:", "completion": "3 + 1\n3 - 1"}])
        output = self.folder / "known-out.jsonl"
        self.cohort("verify", "--reward-config", tables, "--input", rows, "--output", output)
        line = read_lines(output)[0]
        self.assertEqual([line["status"], len(line["steps"])], ["ok", 2])
        self.assertEqual(line["score"], min(step["score"] for step in line["steps"]))
        result = self.folder / "known-eval.json"
        self.cohort(
            *("eval", "--model", self.model, "--input", self.countdown, "--max-completion-length", 8),
            *("--reward", "steps", "--reward-config", tables, "--output", result),
        )
        self.assertEqual(json.loads(result.read_text())["reward_statuses"]["ok"], 6)


class LocalJudgeTest(CliTest):
    """Judges that the program loads itself: tiny models that learnt two answers by heart."""

    # What is judged is all that their chat templates show.
    TEMPLATE = "{{ 'good' if 'good' in messages[-1].content else 'bad' }} {{ messages[0].role }}:"
    NO_SYSTEM = "{{ raise_exception('no system') if messages[0].role == 'system' }}" + TEMPLATE
    RECIPE = """
        [model]
        dtype = "float32"
        [optimizer]
        learning_rate = 1e-2
        [train]
        max_steps = 60
        sequences_per_step = 8
        save_steps = 0
    """
    ANSWERS = {"good": '{"quality": 9}', "bad": '<think>{"quality": 1}</think> {"quality": 2}'}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = [
            {"prompt": f"{word} {role}:", "completion": answer}
            for word, answer in cls.ANSWERS.items()
            for role in ("system", "user")
        ]
        data = write_lines(cls.folder / "answers.jsonl", rows)
        recipe = cls.folder / "judge-sft.toml"
        recipe.write_text(cls.RECIPE)
        cls.judge = cls.folder / "judge"
        places = ("--model.path", cls.model, "--data.path", data, "--run-dir", cls.judge)
        must_run("sft", recipe, *places)

    def verify(self, completions, *options, template=TEMPLATE, model=None):
        """The lines that `cohort verify` writes, and how it ended."""
        model = model or self.judge / "final"
        (model / "chat_template.jinja").write_text(template)
        table = self.folder / "judge.toml"
        table.write_text("\n".join(['[[reward]]\ntype = "judge"\nname = "j"', f'path = "{model}"', *options]))
        rows = [{"prompt": "say", "completion": text} for text in completions]
        rows, output = write_lines(self.folder / "rows.jsonl", rows), self.folder / "judged.jsonl"
        result = run("verify", "--reward-config", table, "--input", rows, "--output", output)
        return result, read_lines(output) if result.returncode == 0 else []

    def test_scores_are_those_of_its_answers(self):
        for template in (self.TEMPLATE, self.NO_SYSTEM):
            with self.subTest(template=template):
                result, lines = self.verify(["a good one", "worse"] * 10, template=template)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(
                    [(line["score"], line["status"]) for line in lines], [(0.9, "ok"), (0.2, "ok")] * 10
                )
                self.assertEqual(lines[1]["detail"], '{"scores":{"quality":[2.0]}}')

    def test_texts_end_no_turn(self):
        seen = self.TEMPLATE.replace("'good' in", "'<|endoftext|>' not in")
        self.assertEqual(self.verify(["say <|endoftext|>"], template=seen)[1][0]["score"], 0.9)

    def test_votes_depend_on_the_row_alone(self):
        options = ("votes = 8", "temperature = 1.3", "max_completion_length = 48")
        texts = ["good", "bad", "so good", "worse"]
        judged = [self.verify(order, *options)[1] for order in (texts, texts, texts[::-1])]
        self.assertIn("failed_votes", judged[0][0]["detail"])  # they do differ
        self.assertEqual(judged[0], judged[1])
        self.assertEqual(judged[0], judged[2][::-1])
        self.assertEqual(judged[0][0], judged[0][2])  # the same to the judge

    def test_answers_without_a_score_are_errors(self):
        result, lines = self.verify(["good"], "max_completion_length = 2")
        self.assertEqual([lines[0]["score"], lines[0]["status"]], [None, "error"])
        self.assertIn("did not end within 2 tokens", lines[0]["detail"])
        result, lines = self.verify(["good"], 'rubric = "{completion} {answer}"')
        self.assertEqual(lines[0]["status"], "unparsed")
        self.assertIn('no column "answer"', lines[0]["detail"])
        long = "{% for i in range(3000) %}1 2 {% endfor %}"
        self.assertEqual(self.verify(["good"], template=long)[1][0]["status"], "unparsed")

    def test_settings_that_cannot_work(self):
        for option, part in (
            ("votes = 2", "`temperature`"),
            ('url = "http://127.0.0.1"', "`url`"),
            ("workers = 2", "`workers`"),
            ('criteria = ["reason"]', "`criteria`"),
        ):
            with self.subTest(option=option):
                result = self.verify(["good"], option)[0]
                self.assertEqual(result.returncode, 2)
                self.assertIn(part, result.stderr)
        self.assertEqual(self.verify(["good"], template="{{ raise_exception('never') }}")[0].returncode, 2)

    def test_a_run_judged_by_it(self):
        data = write_lines(self.folder / "words.jsonl", [{"prompt": "say "}])
        recipe = self.folder / "judged.toml"
        recipe.write_text(
            '[model]\ndtype = "float32"\n[rollout]\nprompts_per_step = 1\nnum_generations = 4\n'
            f'max_completion_length = 8\n[[reward]]\ntype = "judge"\nname = "j"\npath = "{self.judge}/final"\n'
            '[objective]\nloss_type = "grpo"\n[optimizer]\nlearning_rate = 1e-3\n[train]\nmax_steps = 2\n'
        )
        self.verify([])  # sets the template
        run_dir = self.folder / "judged"
        places = ("--model.path", self.model, "--data.path", data, "--run-dir", run_dir)
        result = self.cohort("train", recipe, *places)
        self.assertIn("memory planned", result.stderr)
        self.assertEqual({row["reward"] for row in read_lines(run_dir / "completions.jsonl")}, {0.2})


if __name__ == "__main__":
    unittest.main()
