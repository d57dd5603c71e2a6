"""`GRPOTrainer` as TRL's users call it, on a tiny model. What it checks of TRL's behaviour is in docs/python/trl-tests.md.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer.py
"""

import functools
import json
import logging
import os
import pathlib
import signal
import tempfile
import threading
import traceback
import unittest
import warnings
import zlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from safetensors.torch import load_file
from tiny_run import CONFIG, ROOT, cohort
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

from cohort import GRPOConfig, GRPOTrainer

warnings.simplefilter("ignore")
torch.set_num_threads(1)

CHAT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "


def hashed(prompts, completions, **columns):
    """A score of its own for each completion, so that each group has a gradient."""
    return [zlib.crc32((p + c).encode()) % 97 / 97 for p, c in zip(prompts, completions, strict=True)]


def lengths(completions, **columns):
    return [float(len(one)) for one in completions]


class TrainerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        config = cls.folder / "config.json"
        config.write_text(json.dumps({"model_type": "llama", **json.loads(CONFIG)}))
        cls.model = str(cls.folder / "m")
        cohort(
            "init",
            "--config",
            config,
            "--tokenizer",
            ROOT / "recipes/demo",
            "--seed",
            3,
            "--output",
            cls.model,
        )
        cls.rows = [{"prompt": f"Count to {i}.", "answer": str(i), "level": i % 3} for i in range(12)]

    def setUp(self):
        self.output = tempfile.mkdtemp(dir=self.folder)

    def args(self, **changes):
        values = {
            "output_dir": os.path.join(self.output, "run"),
            "max_steps": 3,
            "per_device_train_batch_size": 8,
            "num_generations": 4,
            "max_completion_length": 12,
            "learning_rate": 1e-3,
            "logging_steps": 1,
            "bf16": False,
            "report_to": "none",
            "disable_tqdm": True,
            "save_strategy": "no",
        }
        return GRPOConfig(**(values | changes))

    def trainer(self, reward_funcs=hashed, model=None, train_dataset=None, more=None, **changes):
        rows = self.rows if train_dataset is None else train_dataset
        return GRPOTrainer(
            model or self.model, reward_funcs, self.args(**changes), train_dataset=rows, **(more or {})
        )

    def metrics(self, trainer):
        lines = (pathlib.Path(trainer.args.output_dir) / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def final(self, trainer):
        return load_file(os.path.join(trainer.args.output_dir, "final", "model.safetensors"))


class TrainTest(TrainerTest):
    def test_trains_and_says_so(self):
        trainer = self.trainer()
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        result = trainer.train()
        self.assertEqual(result.global_step, 3)
        self.assertEqual(trainer.state.global_step, 3)
        self.assertIn("train_loss", trainer.state.log_history[-1])
        self.assertEqual([line["step"] for line in trainer.state.log_history[:-1]], [1, 2, 3])
        for name, old in before.items():
            self.assertFalse(torch.equal(old, trainer.model.get_parameter(name)), name)

    def test_the_log_has_what_the_metrics_file_has(self):
        trainer = self.trainer()
        trainer.train()
        for line, row in zip(trainer.state.log_history, self.metrics(trainer), strict=False):
            for name in ("reward", "loss", "grad_norm", "rewards/hashed/mean", "completions/mean_length"):
                self.assertEqual(line[name], row[name])

    def test_a_line_of_the_log_is_a_mean(self):
        trainer = self.trainer(logging_steps=3)
        trainer.train()
        rewards = [row["reward"] for row in self.metrics(trainer)]
        self.assertAlmostEqual(trainer.state.log_history[0]["reward"], sum(rewards) / 3, places=12)
        self.assertEqual(len(trainer.state.log_history), 2)

    def test_writes_the_bytes_that_the_program_writes(self):
        trainer = self.trainer()
        trainer.train()
        inputs = pathlib.Path(trainer.args.output_dir) / "inputs"
        reward = self.folder / "rewards.py"
        reward.write_text("import zlib\n" + __import__("inspect").getsource(hashed))
        recipe = (inputs / "recipe.toml").read_text()
        recipe = recipe.replace('type = "callable"', f'type = "python"\nfunction = "{reward}:hashed"')
        (inputs / "by_program.toml").write_text(recipe)
        run = os.path.join(self.output, "program")
        cohort("train", inputs / "by_program.toml", "--run-dir", run, "--threads", 1)
        ours = pathlib.Path(trainer.args.output_dir)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            self.assertEqual((ours / name).read_bytes(), (pathlib.Path(run) / name).read_bytes(), name)

    def test_a_model_object_is_trained_in_place(self):
        model = AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)
        parameter = next(model.parameters())
        old = parameter.detach().clone()
        trainer = self.trainer(
            model=model, more={"processing_class": AutoTokenizer.from_pretrained(self.model)}
        )
        trainer.train()
        self.assertIs(trainer.model, model)
        self.assertFalse(torch.equal(old, parameter))
        ids = torch.arange(20)[None]
        with torch.no_grad():
            logits = model(ids).logits
            trainer.save_model(os.path.join(self.output, "saved"))
            loaded = AutoModelForCausalLM.from_pretrained(
                os.path.join(self.output, "saved"), dtype=torch.float32
            )
            self.assertTrue(torch.equal(loaded(ids).logits, logits))

    def test_several_updates_of_one_generation(self):
        trainer = self.trainer(
            max_steps=4, per_device_train_batch_size=4, steps_per_generation=2, num_iterations=2
        )
        trainer.train()
        self.assertEqual(trainer.state.global_step, 4)
        self.assertEqual(len(self.metrics(trainer)), 1, "one generation")

    def test_accumulated_batches_are_one_update(self):
        one = self.trainer()
        one.train()
        other = self.trainer(
            output_dir=os.path.join(self.output, "other"),
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
        )
        other.train()
        for name, weight in self.final(one).items():
            self.assertTrue(torch.equal(weight, self.final(other)[name]), name)

    def test_epochs(self):
        trainer = self.trainer(max_steps=-1, num_train_epochs=2)
        trainer.train()
        self.assertEqual(trainer.state.global_step, 12)
        self.assertEqual(trainer.state.epoch, 2.0)

    def test_the_seed_decides(self):
        rewards = []
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            trainer = self.trainer(output_dir=os.path.join(self.output, name), seed=seed, max_steps=1)
            trainer.train()
            rewards.append(self.metrics(trainer)[0]["reward"])
        self.assertEqual(rewards[0], rewards[1])
        self.assertNotEqual(rewards[0], rewards[2])

    def test_losses(self):
        for loss in ("grpo", "dr_grpo", "dapo", "bnpo", "cispo", "sapo", "vespo", "luspo"):
            level = "sequence" if loss == "luspo" else "token"
            trainer = self.trainer(
                output_dir=os.path.join(self.output, loss),
                loss_type=loss,
                max_steps=1,
                importance_sampling_level=level,
            )
            before = {name: one.clone() for name, one in trainer.model.named_parameters()}
            trainer.train()
            changed = [
                name
                for name, old in before.items()
                if not torch.equal(old, trainer.model.get_parameter(name))
            ]
            self.assertTrue(changed, loss)

    def test_settings_of_the_objective_act(self):
        changes = {
            "beta": 0.1, "scale_rewards": False, "temperature": 0.5, "top_k": 5, "top_p": 0.7, "min_p": 0.2,
            "mask_truncated_completions": True, "entropy_coef": 0.1, "top_entropy_quantile": 0.2, "delta": 2.0,
            "generation_kwargs": {"min_tokens": 5}, "max_grad_norm": 0.01, "weight_decay": 0.5, "adam_beta1": 0.5,
        }  # fmt: skip
        base = self.trainer(output_dir=os.path.join(self.output, "base"), num_iterations=2, max_steps=4)
        base.train()
        for name, value in changes.items():
            trainer = self.trainer(
                output_dir=os.path.join(self.output, name), num_iterations=2, max_steps=4, **{name: value}
            )
            trainer.train()
            same = all(torch.equal(one, self.final(base)[key]) for key, one in self.final(trainer).items())
            if name == "delta":  # no ratio is so large here: the recipe has it
                self.assertIn("delta = 2.0", self.recipe(trainer))
            else:
                self.assertFalse(same, name)

    def recipe(self, trainer):
        return (pathlib.Path(trainer.args.output_dir) / "inputs/recipe.toml").read_text()

    def test_keys_of_a_recipe(self):
        trainer = self.trainer(recipe={"objective.preset": "dr_grpo", "optimizer.adam_beta2": 0.9})
        trainer.train()
        config = (pathlib.Path(trainer.args.output_dir) / "config.toml").read_text()
        self.assertIn('scale_rewards = "none"', config)
        self.assertIn("adam_beta2 = 0.9", config)

    def test_adapters(self):
        from peft import LoraConfig

        trainer = self.trainer(
            more={"peft_config": LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])}
        )
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        for name, old in before.items():
            changed = not torch.equal(old, trainer.model.get_parameter(name))
            self.assertEqual(changed, "lora_" in name, name)
        adapter = load_file(os.path.join(trainer.args.output_dir, "final", "adapter_model.safetensors"))
        self.assertEqual(len(adapter), 8)

    def test_conversations(self):
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        tokenizer.chat_template = CHAT_TEMPLATE
        seen = []

        def reward(prompts, completions, **columns):
            seen.append((prompts[0], completions[0]))
            return [float(len(one[0]["content"])) for one in completions]

        rows = [{"prompt": [{"role": "user", "content": f"Count to {i}."}]} for i in range(6)]
        trainer = self.trainer(reward, train_dataset=rows, more={"processing_class": tokenizer}, max_steps=1)
        trainer.train()
        prompt, completion = seen[0]
        self.assertIn({"prompt": prompt}, rows)
        self.assertEqual((len(completion), completion[0]["role"]), (1, "assistant"))
        line = json.loads(
            (pathlib.Path(trainer.args.output_dir) / "completions.jsonl").read_text().splitlines()[0]
        )
        self.assertTrue(line["prompt"].startswith("user: Count to"))


class RewardTest(TrainerTest):
    def test_sees_columns_state_and_logs(self):
        calls = []

        def reward(
            prompts, completions, completion_ids, answer, level, trainer_state, log_extra, log_metric, **rest
        ):
            calls.append(
                (list(prompts), list(answer), list(level), trainer_state.global_step, completion_ids)
            )
            log_extra("answers", answer)
            log_metric("half", 0.5)
            return [1.0 if i % 2 else 0.0 for i in range(len(prompts))]

        trainer = self.trainer(reward)
        trainer.train()
        self.assertEqual([step for *_, step, _ in calls], [0, 1, 2])
        for prompts, answers, levels, _, ids in calls:
            self.assertEqual(len(prompts), 8)
            self.assertEqual(prompts, sorted(prompts, key=prompts.index), "groups are together")
            for prompt, answer, level in zip(prompts, answers, levels, strict=True):
                self.assertEqual((prompt, level), (f"Count to {answer}.", int(answer) % 3))
            self.assertTrue(all(0 < len(one) <= 12 for one in ids))
        self.assertEqual([row["half"] for row in self.metrics(trainer)], [0.5] * 3)
        self.assertEqual(trainer.state.log_history[0]["half"], 0.5)

    def test_runs_on_the_thread_that_trains(self):
        threads = set()

        def reward(completions, **columns):
            threads.add(threading.current_thread())
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the main thread alone may
            return lengths(completions)

        self.trainer(reward, max_steps=1).train()
        self.assertEqual(threads, {threading.main_thread()})

    def test_kinds(self):
        class Caller:
            def __call__(self, completions, **columns):
                return lengths(completions)

        async def waiting(completions, **columns):
            import asyncio

            await asyncio.sleep(0)
            return lengths(completions)

        functions = [hashed, Caller(), functools.partial(lengths), waiting, "format", lengths]
        functions.append({"name": "short", "type": "length", "weight": 2.0})
        functions = functions[:-1]
        trainer = self.trainer(functions, reward_weights=[1.0, 0.5, 0.0, 0.1, 1.0, 0.0])
        self.assertEqual(
            trainer.reward_func_names, ["hashed", "Caller", "lengths", "waiting", "format", "lengths_2"]
        )
        trainer.train()
        row = self.metrics(trainer)[0]
        self.assertEqual(row["rewards/Caller/mean"], row["rewards/waiting/mean"])
        total = sum(
            row[f"rewards/{name}/mean"] * weight
            for name, weight in zip(trainer.reward_func_names, [1.0, 0.5, 0.0, 0.1, 1.0, 0.0], strict=True)
        )
        self.assertAlmostEqual(row["reward"], total, places=9)

    def test_none_is_no_reward(self):
        def never(completions, **columns):
            return [None] * len(completions)

        def sometimes(completions, level, **columns):
            return [1.0 if one == 0 else None for one in level]

        trainer = self.trainer([hashed, never, sometimes])
        trainer.train()
        for row in self.metrics(trainer):
            self.assertEqual(row["rewards/never/skipped"], 8.0)
            self.assertIn(row["rewards/sometimes/mean"], (1.0, None))

    def test_completions_without_a_score_are_named(self):
        def never(completions, **columns):
            return [None] * len(completions)

        with self.assertLogs("cohort.trainer", logging.WARNING) as logs:
            self.trainer([never, never], max_steps=1).train()
        self.assertIn("no reward function scored 8 completions", logs.output[-1])
        with self.assertNoLogs("cohort.trainer", logging.WARNING):
            self.trainer([never, hashed], max_steps=1, output_dir=os.path.join(self.output, "b")).train()

    def test_an_exception_ends_the_run_with_its_traceback(self):
        def reward(completions, trainer_state, **columns):
            if trainer_state.global_step == 2:
                raise ZeroDivisionError("of the user")
            return lengths(completions)

        trainer = self.trainer(reward)
        try:
            trainer.train()
        except ZeroDivisionError as error:
            frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        self.assertIn("reward", frames)
        self.assertEqual(os.listdir(os.path.join(trainer.args.output_dir, "checkpoints")), ["step-00000002"])

    def test_goes_on_after_an_exception_with_the_same_bytes(self):
        whole = self.trainer(output_dir=os.path.join(self.output, "whole"))
        whole.train()
        fails = [True]

        def hashed_once(prompts, completions, trainer_state, **columns):
            if trainer_state.global_step == 1 and fails:
                fails.clear()
                raise RuntimeError("once")
            return hashed(prompts, completions)

        hashed_once.__name__ = "hashed"
        first = self.trainer(hashed_once)
        self.assertRaises(RuntimeError, first.train)
        del first
        second = self.trainer(hashed_once)
        second.train(resume_from_checkpoint=True)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            one, other = (pathlib.Path(each.args.output_dir) / name for each in (whole, second))
            self.assertEqual(one.read_bytes(), other.read_bytes(), name)
        self.assertEqual([line["step"] for line in second.state.log_history[:-1]], [1, 2, 3])

    def test_an_exception_may_be_masked(self):
        def reward(completions, trainer_state, **columns):
            if trainer_state.global_step == 1:
                raise ZeroDivisionError("of the user")
            return [float(len(one)) for one in completions]

        trainer = self.trainer(reward, reward_error="mask")
        trainer.train()
        self.assertEqual([row["rewards/reward/error"] for row in self.metrics(trainer)], [0.0, 8.0, 0.0])

    def test_bad_results(self):
        cases = (
            (lambda completions, **columns: [1.0], ValueError, "returned 1 rewards for 8 completions"),
            (lambda completions, **columns: None, TypeError, "returned a NoneType, but must return a list"),
            (lambda completions, **columns: ["a"] * 8, TypeError, "what is no number"),
        )
        for place, (reward, error, text) in enumerate(cases):
            with self.assertRaisesRegex(error, text):
                self.trainer(reward, output_dir=os.path.join(self.output, str(place))).train()

    def test_bad_functions(self):
        for functions, error, text in (
            ([], ValueError, "reward_funcs is empty"),
            (None, ValueError, "reward_funcs is missing"),
            ("no_such_reward", ValueError, "neither a directory nor a built-in reward"),
            (3, TypeError, "a int is no reward function"),
        ):
            with self.assertRaisesRegex(error, text):
                self.trainer(functions)
        with self.assertRaisesRegex(ValueError, "reward_weights has 2 numbers, but there are 1"):
            self.trainer(hashed, reward_weights=[1.0, 2.0])


class LoopTest(TrainerTest):
    def test_callbacks_see_every_event(self):
        events = []

        class Watch(TrainerCallback):
            pass

        for event in (
            "train_begin",
            "epoch_begin",
            "step_begin",
            "step_end",
            "epoch_end",
            "log",
            "save",
            "train_end",
        ):

            def note(self, args, state, control, event=event, **values):
                events.append((event, state.global_step))

            setattr(Watch, "on_" + event, note)
        trainer = self.trainer(max_steps=2, save_strategy="steps", save_steps=2, more={"callbacks": [Watch]})
        trainer.train()
        expected = [
            ("train_begin", 0), ("epoch_begin", 0), ("step_begin", 0), ("step_end", 1), ("log", 1), ("step_begin", 1),
            ("step_end", 2), ("log", 2), ("save", 2), ("epoch_end", 2), ("log", 2), ("train_end", 2),
        ]  # fmt: skip
        self.assertEqual(events, expected)

    def test_callbacks_stop_save_and_evaluate(self):
        class Director(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                control.should_save = state.global_step == 1
                control.should_evaluate = state.global_step == 2
                control.should_training_stop = state.global_step == 2

        trainer = self.trainer(max_steps=9, more={"callbacks": [Director()], "eval_dataset": self.rows[:2]})
        trainer.train()
        self.assertEqual(trainer.state.global_step, 2)
        steps = sorted(os.listdir(os.path.join(trainer.args.output_dir, "checkpoints")))
        self.assertEqual(steps, ["step-00000001", "step-00000002"])
        self.assertIn("eval_reward", self.metrics(trainer)[1])
        self.assertTrue(any("eval_reward" in line for line in trainer.state.log_history))

    def test_evaluates(self):
        trainer = self.trainer(
            eval_strategy="steps", eval_steps=2, per_device_eval_batch_size=8, num_generations_eval=2,
            more={"eval_dataset": self.rows[:3]},
        )  # fmt: skip
        trainer.train()
        evaluated = [line for line in trainer.state.log_history if "eval_reward" in line]
        self.assertEqual([line["step"] for line in evaluated], [2, 3], "and in the last step")
        self.assertIn("eval_rewards/hashed/mean", evaluated[0])
        self.assertIn("eval_reward", trainer.evaluate())

    def test_evaluates_at_the_start(self):
        trainer = self.trainer(
            eval_on_start=True, eval_strategy="steps", eval_steps=9, per_device_eval_batch_size=4,
            more={"eval_dataset": self.rows[:3]},
        )  # fmt: skip
        trainer.train()
        self.assertEqual(
            [line["step"] for line in trainer.state.log_history if "eval_reward" in line], [0, 3]
        )

    def test_evaluates_before_training(self):
        trainer = self.trainer(more={"eval_dataset": self.rows[:3]})
        before = trainer.evaluate()
        self.assertIn("eval_reward", before)
        trainer.train()
        self.assertEqual(trainer.state.global_step, 3)

    def test_keeps_checkpoints_and_goes_on(self):
        whole = self.trainer(output_dir=os.path.join(self.output, "whole"), max_steps=4)
        whole.train()
        first = self.trainer(max_steps=4, save_strategy="steps", save_steps=1, save_total_limit=2)

        class Stop(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                control.should_training_stop = state.global_step == 2

        first.add_callback(Stop)
        first.train()
        del first
        second = self.trainer(max_steps=4, save_strategy="steps", save_steps=1, save_total_limit=2)
        newest = os.path.join(second.args.output_dir, "checkpoints", "step-00000002")
        second.train(resume_from_checkpoint=newest)
        self.assertEqual(len(os.listdir(os.path.join(second.args.output_dir, "checkpoints"))), 2)
        for name in ("metrics.jsonl", "final/model.safetensors"):
            one, other = (pathlib.Path(each.args.output_dir) / name for each in (whole, second))
            self.assertEqual(one.read_bytes(), other.read_bytes(), name)

    def test_an_interrupt_leaves_a_checkpoint(self):
        class Interrupt(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                if state.global_step == 2:
                    raise KeyboardInterrupt

        trainer = self.trainer(more={"callbacks": [Interrupt()]})
        self.assertRaises(KeyboardInterrupt, trainer.train)
        self.assertTrue(os.path.isdir(os.path.join(trainer.args.output_dir, "checkpoints", "step-00000002")))

    def test_refuses_a_run_that_is_there(self):
        self.trainer(max_steps=1).train()
        with self.assertRaisesRegex(ValueError, "holds a run already"):
            self.trainer(max_steps=1).train()

    def test_saves_models_and_state(self):
        trainer = self.trainer(max_steps=1)
        trainer.train()
        trainer.save_model()
        trainer.save_state()
        for name in ("model.safetensors", "config.json", "tokenizer.json", "trainer_state.json"):
            self.assertTrue(os.path.isfile(os.path.join(trainer.args.output_dir, name)), name)

    def test_tensorboard(self):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        os.environ["TENSORBOARD_LOGGING_DIR"] = os.path.join(self.output, "tb")
        trainer = self.trainer(report_to="tensorboard")
        trainer.train()
        del os.environ["TENSORBOARD_LOGGING_DIR"]
        events = EventAccumulator(os.path.join(self.output, "tb")).Reload()
        rewards = [event.value for event in events.Scalars("train/reward")]
        for ours, row in zip(rewards, self.metrics(trainer), strict=True):
            self.assertAlmostEqual(ours, row["reward"], places=6)


class DataTest(TrainerTest):
    def test_kinds(self):
        lines = self.folder / "rows.jsonl"
        lines.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        for place, rows in enumerate((self.rows, str(lines), iter(self.rows))):
            trainer = self.trainer(output_dir=os.path.join(self.output, str(place)), train_dataset=rows)
            trainer.train()
            self.assertEqual(len(self.metrics(trainer)), 3)

    def test_bad_rows(self):
        for rows, error, text in (
            ([], ValueError, "train_dataset is empty"),
            (
                [{"question": "a"}],
                ValueError,
                "row 0 of train_dataset has no column 'prompt'; it has question",
            ),
            ([{"prompt": "a"}, {"prompt": 3}], ValueError, "row 1 of train_dataset: 'prompt' is a int"),
            (
                [{"prompt": "a", "image": b"\x00"}],
                ValueError,
                "row 0 of train_dataset: a bytes has no place in a row",
            ),
            ([{"prompt": "a", "x": float("nan")}], ValueError, "row 0 of train_dataset"),
            ([3], TypeError, "row 0 of train_dataset is a int, but must be a dict"),
        ):
            with self.assertRaisesRegex(error, text):
                self.trainer(train_dataset=rows, output_dir=tempfile.mkdtemp(dir=self.folder)).train()
        with self.assertRaisesRegex(ValueError, "has no length: set max_steps"):
            self.trainer(train_dataset=iter(self.rows), max_steps=-1)
        with self.assertRaisesRegex(ValueError, "train_dataset is missing"):
            GRPOTrainer(self.model, hashed, self.args())


class TrlTest(TrainerTest):
    """What TRL's own tests check beyond what stands above."""

    def trains(self, reward_funcs=hashed, more=None, **changes):
        """The trainer after some updates of two passes over each generation, all of whose parameters changed."""
        changes = {"num_iterations": 2, "max_steps": 4} | changes
        trainer = self.trainer(reward_funcs, more=more, **changes)
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        self.assertIn("train_loss", trainer.state.log_history[-1])
        for name, old in before.items():
            self.assertFalse(torch.equal(old, trainer.model.get_parameter(name)), name)
        return trainer

    def test_settings_train(self):
        for place, changes in enumerate(
            (
                {"beta": 0.1, "sync_ref_model": True, "ref_model_sync_steps": 2},
                {"beta": 0.1, "use_bias_correction_kl": False},
                {"off_policy_mask_threshold": 0.5},
                {"use_adaptive_entropy": True, "entropy_coef": 0.01, "entropy_target": 9.0},
                {"use_adaptive_entropy": True, "entropy_coef": 0.01, "entropy_target": 9.0,
                 "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
                {"scale_rewards": "batch"}, {"scale_rewards": "none"}, {"scale_rewards": True},
                {"importance_sampling_level": "sequence"}, {"pad_to_multiple_of": 8}, {"delta": 2.0},
                {"use_vllm": True}, {"use_liger_kernel": True}, {"cache_implementation": "static"},
                {"gradient_checkpointing": True}, {"dataloader_num_workers": 2},
                {"generation_kwargs": {"top_k": 5, "max_new_tokens": 6}},
                {"num_generations": 8, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
            )
        ):  # fmt: skip
            with self.subTest(**changes):
                self.trains(output_dir=os.path.join(self.output, str(place)), **changes)

    def test_the_reward_of_the_log_is_weighted(self):
        for aggregation in ("sum_then_normalize", "normalize_then_sum"):
            trainer = self.trainer(
                [lambda completions, **columns: [1.0] * len(completions),
                 lambda completions, **columns: [0.0] * len(completions)],
                output_dir=os.path.join(self.output, aggregation), logging_steps=10,
                reward_weights=[0.7, 0.3], multi_objective_aggregation=aggregation,
            )  # fmt: skip
            trainer.train()
            self.assertAlmostEqual(trainer.state.log_history[-1]["reward"], 0.7, places=6)

    def test_all_truncated_and_masked_trains_nothing(self):
        trainer = self.trainer(
            mask_truncated_completions=True, max_completion_length=2, generation_kwargs={"min_tokens": 2}
        )
        before = {name: one.clone() for name, one in trainer.model.named_parameters()}
        trainer.train()
        for name, old in before.items():
            self.assertTrue(torch.equal(old, trainer.model.get_parameter(name)), name)

    def test_rewards_of_models_and_functions(self):
        from transformers import AutoConfig, AutoModelForSequenceClassification

        path = os.path.join(self.output, "reward-model")
        config = AutoConfig.from_pretrained(self.model, num_labels=1, pad_token_id=0)
        torch.manual_seed(1)
        AutoModelForSequenceClassification.from_config(config).save_pretrained(path)
        AutoTokenizer.from_pretrained(self.model).save_pretrained(path)
        trainer = self.trains([path, hashed])
        self.assertEqual(trainer.reward_func_names, ["reward-model", "hashed"])
        self.assertIn("rewards/reward-model/mean", trainer.state.log_history[0])

    def test_data_sets(self):
        from datasets import Dataset, IterableDataset

        def made():
            yield from self.rows

        rows = Dataset.from_list(self.rows)
        trainer = self.trains(
            train_dataset=rows,
            more={"eval_dataset": rows},
            eval_strategy="steps",
            eval_steps=2,
            per_device_eval_batch_size=4,
        )
        self.assertTrue(any("eval_reward" in line for line in trainer.state.log_history))
        self.trains(
            train_dataset=IterableDataset.from_generator(made), output_dir=os.path.join(self.output, "b")
        )

    def test_evaluations_by_name(self):
        trainer = self.trainer(
            eval_strategy="steps", eval_steps=2, per_device_eval_batch_size=4,
            more={"eval_dataset": {"a": self.rows[:2], "b": self.rows[2:4]}},
        )  # fmt: skip
        trainer.train()
        self.assertTrue(any("eval_reward" in line for line in trainer.state.log_history))

    def test_variables_of_the_chat_template(self):
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        tokenizer.chat_template = "{% if loud %}LOUD {% endif %}" + CHAT_TEMPLATE
        rows = [{"prompt": [{"role": "user", "content": f"Count to {i}."}]} for i in range(6)]
        trainer = self.trainer(
            train_dataset=rows, reward_funcs=lengths, chat_template_kwargs={"loud": True},
            more={"processing_class": tokenizer}, max_steps=1,
        )  # fmt: skip
        trainer.train()
        line = json.loads(
            (pathlib.Path(trainer.args.output_dir) / "completions.jsonl").read_text().splitlines()[0]
        )
        self.assertTrue(line["prompt"].startswith("LOUD user: "))

    def test_modules_that_are_saved_whole(self):
        from peft import LoraConfig

        config = LoraConfig(r=2, target_modules=["q_proj"], modules_to_save=["lm_head"])
        trainer = self.trainer(more={"peft_config": config})
        trainer.train()
        names = load_file(os.path.join(trainer.args.output_dir, "final", "adapter_model.safetensors"))
        self.assertTrue(any("lm_head" in name for name in names), list(names))

    def test_the_arguments_have_defaults(self):
        os.chdir(self.output)
        trainer = GRPOTrainer(self.model, hashed, train_dataset=self.rows)
        self.assertEqual(trainer.args.output_dir, "m-GRPO")


class SettingsTest(TrainerTest):
    def test_every_setting_of_trl_is_in_one_list(self):
        import ast
        import dataclasses

        from cohort.trainer.settings import ACTS, IGNORED, REFUSED
        from transformers import TrainingArguments
        from trl_source import parse

        tree = parse("grpo_config.py")
        names = {field.name for field in dataclasses.fields(TrainingArguments)}
        for node in ast.walk(tree):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
        ours = {field.name for field in dataclasses.fields(GRPOConfig)}
        self.assertEqual(names - ours, set(), "not in our GRPOConfig")
        lists = [name for names in ACTS.values() for name in names] + [*IGNORED, *REFUSED]
        self.assertEqual(sorted(lists), sorted(ours))

    def test_the_page_is_the_lists(self):
        from cohort.trainer.settings import page

        self.assertEqual((ROOT / "docs/python/trainer-settings.md").read_text(), page())

    def test_what_is_refused(self):
        for change, text in (
            ({"fp16": True, "bf16": False}, "fp16 = True is not supported: use bf16"),
            ({"optim": "sgd"}, "the engine has AdamW"),
            ({"repetition_penalty": 1.1}, "repetition_penalty = 1.1 is not supported"),
            ({"generation_kwargs": {"num_beams": 2}}, r"generation_kwargs\['num_beams'\] is not supported"),
            ({"recipe": {"preset": "dapo"}}, "'preset' is no key of a recipe"),
            ({"num_generations": 1}, "a group needs at least 2"),
            ({"num_generations": 3}, "must be divisible by num_generations"),
            ({"eval_strategy": "steps", "eval_steps": 1}, "there is no eval_dataset"),
            ({"reward_error": "ignore"}, "must be 'raise' or 'mask'"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.trainer(**change).train()

    def test_what_has_no_meaning_is_named(self):
        with self.assertLogs("cohort.trainer", logging.WARNING) as logs:
            self.trainer(use_vllm=True, gradient_checkpointing=False)
        self.assertEqual(
            [record.getMessage().split(":")[0] for record in logs.records],
            [
                "use_vllm has no effect",
                "gradient_checkpointing has no effect",
            ],
        )

    def test_arguments_that_are_refused(self):
        for more, text in (
            ({"optimizers": (torch.optim.SGD([torch.zeros(1)], 1.0), None)}, "optimizers is not supported"),
            ({"tools": [hashed]}, "tools is not supported"),
            ({"rollout_func": hashed}, "rollout_func is not supported"),
            ({"environment_factory": dict}, "environment_factory is not supported"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.trainer(more=more)
        with self.assertRaisesRegex(TypeError, "model is a int"):
            self.trainer(model=3)
        with self.assertRaises(OSError):
            self.trainer(model="/no/such/model")


if __name__ == "__main__":
    unittest.main()
