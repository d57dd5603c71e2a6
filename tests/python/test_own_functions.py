"""Losses and advantages in Python, in `GRPOTrainer` and in `cohort train`.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_own_functions.py
"""

import concurrent.futures
import inspect
import os
import pathlib
import subprocess
import sys
import traceback
import unittest

import torch
from shared_case import free_port
from test_loss_functions import dapo, grpo, gspo, surrogate
from tiny_run import PROGRAM
from trainer_case import TrainerTest, hashed

SOURCE = f"""
import sys
import torch
import zlib
STOP = 10**9
calls = 0
{inspect.getsource(surrogate)}
{inspect.getsource(dapo)}
{inspect.getsource(hashed)}
def centred(rewards, group):
    means = torch.stack([rewards[group == g].nanmean() for g in range(int(group.max()) + 1)])
    return 2 * (rewards - means[group])
"""


def group_advantages(rewards, group):
    """GRPO's, arXiv:2402.03300 section 4.1, with TRL's epsilon."""
    values = torch.zeros_like(rewards)
    for g in group.unique():
        one = rewards[group == g]
        there = one[~one.isnan()]
        values[group == g] = (one - there.mean()) / (there.std() + 1e-4)
    return values


class Case(TrainerTest):
    def trained(self, loss=None, advantages=None, more=None, **changes):
        trainer = self.trainer(more={"loss": loss, "advantages": advantages} | (more or {}), **changes)
        trainer.train()
        return trainer

    def next_output(self):
        self.output = os.path.join(self.folder, f"out{len(os.listdir(self.folder))}")
        os.makedirs(self.output)

    def check_same(self, ours, wanted, names=("loss", "grad_norm", "reward")):
        for mine, theirs in zip(self.metrics(ours), self.metrics(wanted), strict=True):
            for name in names:
                self.assertAlmostEqual(
                    mine[name], theirs[name], delta=1e-6 * max(1, abs(theirs[name])), msg=name
                )
        mine, theirs = self.final(ours), self.final(wanted)
        for name, tensor in theirs.items():
            torch.testing.assert_close(mine[name], tensor, rtol=0, atol=1e-6, msg=name)


class RestatedTest(Case):
    """Updates in proportion to the gradient (a large adam_epsilon), two for each generation, so that ratios are not 1."""

    MANY = {
        "num_iterations": 2,
        "learning_rate": 0.3,
        "adam_epsilon": 1.0,
        "recipe": {"train.tokens_per_microbatch": 90},
    }

    def check_loss(self, function, learning_rate=0.3, **settings):
        many = self.MANY | {"learning_rate": learning_rate}
        wanted = self.trained(**many, **settings)
        self.next_output()
        ours = self.trained(loss=function, **many)
        self.check_same(ours, wanted)
        first, last = self.metrics(wanted)[0], self.metrics(wanted)[-1]
        self.assertGreater(first["grad_norm"], 1e-3)
        self.assertNotEqual(first["loss"], last["loss"])

    def test_grpo(self):
        self.check_loss(grpo, loss_type="grpo")

    def test_dapo(self):
        self.check_loss(dapo, loss_type="dapo", epsilon_high=0.28)

    def test_gspo(self):
        self.check_loss(
            gspo,
            1e-4,
            loss_type="grpo",
            importance_sampling_level="sequence",
            epsilon=3e-4,
            epsilon_high=4e-4,
        )

    def test_a_kl_term_reads_the_reference(self):
        def with_kl(policy, old, advantages, mask, batch):
            difference = (batch.ref_logprobs - policy) * mask
            kl = (difference.exp() - difference - 1).sum() / batch.num_loss_tokens
            return dapo(policy, old, advantages, mask, batch)[0] + 0.2 * kl

        settings = {"beta": 0.2, "epsilon_high": 0.28, "use_bias_correction_kl": False}
        wanted = self.trained(**self.MANY, **settings)
        self.next_output()
        self.check_same(self.trained(loss=with_kl, beta=0.2, **self.MANY), wanted)

    def test_advantages(self):
        wanted = self.trained()
        self.next_output()
        ours = self.trained(advantages=group_advantages)
        self.check_same(
            ours, wanted, self.metrics(wanted)[0].keys() - {"sampling/sampling_logp_difference/mean"}
        )

    def test_other_advantages_act(self):
        wanted = self.trained()
        self.next_output()
        ours = self.trained(advantages=lambda rewards, group: [1.0] * len(rewards))
        self.assertNotEqual(self.metrics(ours)[0]["grad_norm"], self.metrics(wanted)[0]["grad_norm"])


class CallsTest(Case):
    def test_micro_batches_share_the_normalizers_of_the_batch(self):
        counts = []

        def counted(policy, old, advantages, mask, batch):
            counts.append((len(policy), batch.num_completions, batch.num_loss_tokens, int(mask.sum())))
            loss, metrics = dapo(policy, old, advantages, mask, batch)
            return loss, metrics | {"own/calls": 1}

        small = self.trained(loss=counted, recipe={"train.tokens_per_microbatch": 40}, max_steps=1)
        row, cut = self.metrics(small)[0], counts[1:]  # the first call is the trial's
        self.assertGreater(len(cut), 1)
        self.assertEqual({(8, sum(tokens for *_, tokens in cut))}, {count[1:3] for count in cut})
        self.assertEqual((row["own/calls"], row["tokens"]), (len(cut), sum(tokens for *_, tokens in cut)))
        self.assertEqual(small.state.log_history[0]["own/calls"], len(cut))
        self.next_output()
        whole = self.trained(loss=counted, recipe={"train.tokens_per_microbatch": 4000}, max_steps=1)
        self.assertEqual(len(counts), 1 + len(cut) + 2)
        self.check_same(small, whole)

    def test_what_an_advantage_function_gets(self):
        seen = []

        def lame(completions, **columns):
            return [
                None if i == 5 else score
                for i, score in enumerate(hashed(completions=completions, **columns))
            ]

        def own(rewards, group):
            seen.append((rewards.clone(), group))
            rewards.zero_()  # its own copy
            return torch.arange(len(rewards), dtype=torch.float32)

        trainer = self.trained(advantages=own, reward_funcs=lame, max_steps=1)
        rewards, group = seen[1]
        self.assertEqual((rewards.dtype, group.dtype), (torch.float64, torch.int64))
        self.assertEqual(group.tolist(), [0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual(rewards.isnan().nonzero().flatten().tolist(), [5])
        path = pathlib.Path(trainer.args.output_dir, "completions.jsonl")
        rows = [__import__("json").loads(line) for line in path.read_text().splitlines()]
        self.assertEqual([row["advantage"] for row in rows], [0, 1, 2, 3, 4, 0, 6, 7])

    def test_a_batch_without_loss_has_its_metrics(self):
        trainer = self.trained(
            loss=dapo, mask_truncated_completions=True, max_completion_length=1, max_steps=1
        )
        row = self.metrics(trainer)[0]
        self.assertEqual((row["loss"], row["tokens"]), (0, 0))

    def test_an_exception_leaves_a_checkpoint_of_the_step_before(self):
        wanted = self.trained(loss=dapo)
        self.next_output()
        calls = []

        def failing(*given):
            calls.append(given)
            if len(calls) == 3:
                raise LookupError("of the user")
            return dapo(*given)

        trainer = self.trainer(more={"loss": failing})
        try:
            trainer.train()
            self.fail("nothing was raised")
        except LookupError as error:
            self.assertEqual(traceback.extract_tb(error.__traceback__)[-1].name, "failing")
        output = pathlib.Path(trainer.args.output_dir)
        self.assertEqual([path.name for path in (output / "checkpoints").iterdir()], ["step-00000001"])
        again = self.trainer(more={"loss": dapo})
        again.train(resume_from_checkpoint=True)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            bytes_of = [pathlib.Path(one.args.output_dir, name).read_bytes() for one in (again, wanted)]
            self.assertEqual(*bytes_of, name)

    def test_a_step_that_failed_behind_its_first_update_leaves_no_checkpoint(self):
        calls = []

        def failing(*given):
            calls.append(given)
            if len(calls) == 5:  # the trial's, two of step 1, two of step 2
                raise LookupError("of the user")
            return dapo(*given)

        trainer = self.trainer(more={"loss": failing}, num_iterations=2)
        with self.assertRaises(LookupError):
            trainer.train()
        self.assertFalse(list(pathlib.Path(trainer.args.output_dir, "checkpoints").glob("*")))

    def test_what_is_refused(self):
        wrong = [
            (TypeError, "loss is a str", {"loss": "grpo"}, {}),
            (TypeError, "advantages is a int", {"advantages": 1}, {}),
            (TypeError, "must return a tensor", {"loss": lambda *given: 1.0}, {}),
            (ValueError, "shape", {"loss": lambda policy, *rest: policy}, {}),
            (ValueError, "no gradient", {"loss": lambda policy, *rest: policy.sum().detach()}, {}),
            (ValueError, "no gradient", {"loss": lambda *given: torch.zeros((), requires_grad=True)}, {}),
            (ValueError, "is nan", {"loss": lambda policy, *rest: policy.sum() * float("nan")}, {}),
            (ValueError, "not finite", {"loss": lambda policy, old, *rest: (policy - old).sqrt().sum()}, {}),
            (ValueError, "metric 'loss'", {"loss": lambda policy, *rest: (policy.sum(), {"loss": 1})}, {}),
            (ValueError, 'metric "reward"', {"loss": lambda policy, *rest: (policy.sum(), {"reward": 1})}, {}),
            (ZeroDivisionError, "", {"loss": lambda *given: 1 / 0}, {}),
            (ValueError, "shape", {"advantages": lambda rewards, group: rewards[:1]}, {}),
            (TypeError, "NoneType", {"advantages": lambda rewards, group: None}, {}),
            (ValueError, "nanmean", {"advantages": lambda rewards, group: rewards - rewards.mean()}, {}),
            (ValueError, "loss_type", {"loss": dapo}, {"loss_type": "grpo"}),
            (ValueError, "objective.epsilon = 0.1 has no effect", {"loss": dapo}, {"epsilon": 0.1}),
            (ValueError, "scale_rewards", {"advantages": group_advantages}, {"scale_rewards": "none"}),
            (ValueError, "use_adaptive_entropy", {"loss": dapo}, {"use_adaptive_entropy": True}),
            (ValueError, "say the same", {"loss": dapo}, {"recipe": {"objective.python": "x.py:y"}}),
            (ValueError, "no file", {}, {"recipe": {"objective.python": "missing.py:loss"}}),
        ]  # fmt: skip
        for kind, words, more, changes in wrong:
            with self.subTest(words=words), self.assertRaisesRegex(kind, words):
                self.trainer(more=more, **changes).train()
            self.assertFalse(os.path.exists(os.path.join(self.output, "run", "config.toml")))


class ProgramTest(Case):
    def setUp(self):
        super().setUp()
        self.source = pathlib.Path(self.output, "own.py")
        self.source.write_text(SOURCE)

    def train(self, recipe, run, *more, code=0, **environment):
        names = {
            **os.environ,
            "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
            "PYTHONPATH": os.path.abspath(os.environ["PYTHONPATH"]),
            **environment,
        }
        done = subprocess.run(
            [PROGRAM, "train", recipe, "--run-dir", run, "--threads", "1", *more],
            cwd=self.output,
            env=names,
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def train_on_two(self, recipe, run, *more, codes=(0, 0)):
        """The same on two processes, which end with these codes."""
        port = str(free_port())
        with concurrent.futures.ThreadPoolExecutor() as pool:
            started = []
            for rank, code in enumerate(codes):
                names = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_PORT": port}
                names["MASTER_ADDR"] = "127.0.0.1"
                started.append(pool.submit(self.train, recipe, run, *more, code=code, **names))
            return [one.result() for one in started]

    def recipe(self, loss="own.py:dapo", advantages="own.py:centred"):
        """The recipe of a trainer whose functions stand in a file, and the trainer, which has run."""
        scope = {}
        exec(compile(SOURCE, str(self.source), "exec"), scope)
        trainer = self.trained(loss=scope["dapo"], advantages=scope["centred"], lr_scheduler_type="constant")
        text = pathlib.Path(trainer.args.output_dir, "inputs/recipe.toml").read_text()
        text = text.replace('python = "callable"', f'python = "{loss}"')
        text = text.replace('python_advantages = "callable"', f'python_advantages = "{advantages}"')
        text = text.replace(
            'type = "callable"', 'type = "python"\nfunction = "own.py:hashed"\ntimeout_s = 120.0'
        )
        path = pathlib.Path(self.output, "recipe.toml")
        path.write_text(text)
        return path, trainer

    def bytes_of(self, *parts):
        return pathlib.Path(self.output, *parts).read_bytes()

    def test_writes_the_bytes_that_the_trainer_writes(self):
        recipe, trainer = self.recipe()
        self.assertIn("tokens", self.metrics(trainer)[0])
        done = self.train(recipe, "program")
        self.assertEqual(done.stdout, "program\n")
        self.train(recipe, "first", "--train.max_steps", "2")
        self.train(recipe, "first", "--resume")
        for name in ("metrics.jsonl", "final/model.safetensors"):
            self.assertEqual(self.bytes_of("program", name), self.bytes_of("run", name), name)
            self.assertEqual(self.bytes_of("first", name), self.bytes_of("run", name), name)

    def test_several_processes_call_the_functions(self):
        recipe, _ = self.recipe()
        slots = ("--dist.gradient-slots", "2")
        self.train(recipe, "alone", *slots)
        done = self.train_on_two(recipe, "shared", *slots)
        self.assertEqual([one.stdout for one in done], ["shared\n", ""])
        for name in ("metrics.jsonl", "completions.jsonl", "final/model.safetensors"):
            self.assertEqual(self.bytes_of("shared", name), self.bytes_of("alone", name), name)

    def test_a_failure_in_one_process_ends_the_others(self):
        recipe, _ = self.recipe(loss="own.py:failing")
        self.source.write_text(
            SOURCE
            + "def failing(*given):\n    global calls\n    calls += 1\n"
            + "    import os\n    if calls > 3 and os.environ['RANK'] == '1':\n        raise LookupError('of rank 1')\n"
            + "    return dapo(*given)\n"
        )
        done = self.train_on_two(recipe, "shared", codes=(75, 2))
        last = [one.stderr.splitlines()[-1] for one in done]
        self.assertRegex(last[0], r"^cohort: rank 1 \([^)]*\) has ended by an error")
        self.assertRegex(last[1], r"^cohort: own.py:failing: line \d+: LookupError: of rank 1$")

    def test_the_trainer_takes_the_functions_from_the_file(self):
        _, trainer = self.recipe()
        keys = {"python": f"{self.source}:dapo", "python_advantages": f"{self.source}:centred"}
        self.next_output()
        recipe = {f"objective.{key}": place for key, place in keys.items()}
        again = self.trained(recipe=recipe, lr_scheduler_type="constant")
        self.check_same(again, trainer)

    def test_a_failure_is_one_line_and_leaves_a_checkpoint(self):
        recipe, _ = self.recipe(loss="own.py:failing")
        self.source.write_text(
            SOURCE
            + "def failing(*given):\n    global calls\n    calls += 1\n"
            + "    if calls > 3:\n        raise LookupError('of the\\nuser')\n    return dapo(*given)\n"
        )
        line = SOURCE.count("\n") + 5
        done = self.train(recipe, "failed", code=2)
        last = done.stderr.splitlines()[-1]
        self.assertEqual(last, f"cohort: own.py:failing: line {line}: LookupError: of the user")
        self.assertTrue(os.path.isdir(os.path.join(self.output, "failed/checkpoints/step-00000002")))
        self.source.write_text(SOURCE + "failing = dapo\n")
        self.train(recipe, "failed", "--resume")
        self.assertEqual(self.bytes_of("failed/metrics.jsonl"), self.bytes_of("run/metrics.jsonl"))

    def test_what_is_refused_before_the_first_step(self):
        recipe, _ = self.recipe()
        self.source.write_text(
            SOURCE
            + "wrong = 1\n"
            + "def raising(*given):\n    return 1 / 0\n"
            + "def backward(policy, *rest):\n    policy.register_hook(raising)\n    return policy.sum()\n"
        )
        pathlib.Path(self.output, "broken.py").write_text("x = 1\ny =\n")
        place = "objective.python"
        for flags, words in [
            ((f"--{place}", "missing.py:loss"), "objective.python: there is no file missing.py"),
            ((f"--{place}", "own.py:dapoo"), "no function 'dapoo'; did you mean 'dapo'?"),
            ((f"--{place}", "own.py"), "names no function"),
            ((f"--{place}", "callable"), "names no function"),
            ((f"--{place}", "own.py:wrong"), "own.py:wrong is a int"),
            ((f"--{place}", "broken.py:loss"), "broken.py can't be loaded: line 2: SyntaxError"),
            ((f"--{place}", "no_such_module:loss"), "ModuleNotFoundError: No module named 'no_such_module'"),
            ((f"--{place}", "own.py:raising"), "ZeroDivisionError: division by zero"),
            ((f"--{place}", "own.py:backward"), "ZeroDivisionError: division by zero"),
            ((f"--{place}", "own.py:centred"), "takes 2 positional arguments"),
            ((f"--{place}_advantages", "own.py:dapo"), "missing 3 required positional arguments"),
            ((f"--{place}_advantages", "missing.py:a"), "objective.python_advantages: there is no file"),
            (("--objective.epsilon", "0.1"), "objective.epsilon = 0.1 has no effect"),
            (("--objective.preset", "ppo"), "has no effect"),
        ]:
            with self.subTest(flags=flags):
                done = self.train(recipe, "refused", *flags, code=2)
                self.assertRegex(done.stderr, r"\Acohort: [^\n]*\n\Z")
                self.assertIn(words, done.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.output, "refused")))

    def test_without_the_package(self):
        recipe, _ = self.recipe()
        done = self.train(recipe, "none", code=2, PYTHONPATH="")
        self.assertRegex(done.stderr, r"\Acohort: [^\n]* has no package cohort[^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main(verbosity=2)
