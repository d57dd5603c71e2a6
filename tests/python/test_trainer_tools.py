"""GRPOTrainer with tools and environments, called as TRL's tests call them.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_tools.py
"""

import asyncio
import os
import pathlib
import random
import shutil
import time
import unittest

from trainer_case import TrainerTest

from cohort import GRPOTrainer, SFTConfig, SFTTrainer

TEMPLATE = (
    "{%- for m in messages -%}{%- if m.role == 'assistant' -%}A:{% generation %}{{ m.content }}"
    "{% for call in m.tool_calls or [] %}<tool_call>{{ {'name': call.function.name, 'arguments': call.function.arguments}"
    " | tojson }}</tool_call>{% endfor %}{{ eos_token }}{% endgeneration %}{%- else -%}{{ m.role[0] }}:{{ m.content }}\n"
    "{% endif -%}{%- endfor -%}{%- if add_generation_prompt -%}A:{%- endif -%}"
)
CALL = {"name": "multiply", "arguments": {"a": 2, "b": 3}}
ROWS = [{"prompt": [{"role": "user", "content": f"Go {i}."}], "level": i} for i in range(8)]


def multiply(a: int, b: int) -> int:
    """
    Multiplies two integers.

    Args:
        a: The first integer.
        b: The second integer.
    """
    return a * b


class Board:
    """An environment with one tool, whose reward is what was multiplied."""

    made = 0

    def __init__(self):
        type(self).made += 1
        self.resets = []

    def reset(self, **row):
        self.resets.append(row)
        self.product = None
        return f" Level {row.get('level')}."

    def multiply(self, a: int, b: int) -> str:
        """
        Multiplies two integers.

        Args:
            a: The first integer.
            b: The second integer.
        """
        self.product = a * b
        return f"board says {self.product}"

    def get_reward(self) -> float:
        return 0.0 if self.product is None else self.product / 10


class Other(Board):
    made = 0

    def get_reward(self) -> float:
        return 5.0


class Turns(Board):
    """The same rewards, turn by turn, and a state."""

    turn_rewards = True
    asked = 0

    def get_reward(self) -> float:
        type(self).asked += 1
        return super().get_reward() + 0.5

    @property
    def state(self):
        return {"product": self.product}


class ToolsTest(TrainerTest):
    """The model has learnt to call `multiply` once, and then to say "ok"."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        start = os.path.join(cls.folder, "start")
        shutil.copytree(cls.model, start)
        (pathlib.Path(start) / "chat_template.jinja").write_text(TEMPLATE)
        call = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": CALL}]}
        results = ["6", "board says 6", "{'error': 'no'}", "7", ""]
        rows = [
            {
                "messages": [
                    {"role": "user", "content": text},
                    call,
                    {"role": "tool", "name": "multiply", "content": result},
                    {"role": "assistant", "content": "ok"},
                ]
            }
            for result in results
            for text in [row["prompt"][0]["content"] for row in ROWS]
            + [f"{row['prompt'][0]['content']} Level {i}." for i, row in enumerate(ROWS)]
        ]
        args = SFTConfig(
            os.path.join(cls.folder, "sft"),
            max_steps=150,
            per_device_train_batch_size=16,
            learning_rate=1e-2,
            assistant_only_loss=True,
            bf16=False,
            report_to="none",
            disable_tqdm=True,
            save_strategy="no",
            logging_steps=50,
        )
        trainer = SFTTrainer(start, args, train_dataset=rows)
        trainer.train()
        cls.model = os.path.join(cls.folder, "sft", "final")
        shutil.copy(os.path.join(start, "chat_template.jinja"), cls.model)

    def tool_trainer(self, tools=(multiply,), reward_funcs=None, more=None, rows=ROWS, **changes):
        self.seen = []

        def reward(prompts, completions, **columns):
            self.seen.append((prompts, completions, columns))
            return [float(place % 4) for place in range(len(completions))]

        values = {"max_completion_length": 120, "temperature": 0.3, "max_steps": 1, "learning_rate": 1e-6}
        return GRPOTrainer(
            self.model,
            reward if reward_funcs is None else reward_funcs,
            self.args(**(values | changes)),
            train_dataset=rows,
            tools=list(tools),
            **(more or {}),
        )

    def roles(self):
        return [[message["role"] for message in one] for one in self.seen[-1][1]]

    def test_tools_are_called_and_rewards_see_the_messages(self):
        trainer = self.tool_trainer()
        trainer.train()
        self.assertEqual(self.roles(), [["assistant", "tool", "assistant"]] * 8)
        first = self.seen[-1][1][0]
        self.assertEqual(first[0]["tool_calls"], [{"type": "function", "function": CALL}])
        self.assertEqual(first[1], {"role": "tool", "name": "multiply", "content": "6"})
        self.assertEqual(first[2]["content"], "ok")
        line = self.metrics(trainer)[-1]
        self.assertEqual((line["tools/call_frequency"], line["tools/failure_frequency"]), (1, 0))
        self.assertEqual(line["sampling/sampling_logp_difference/max"], 0)
        logged = trainer.state.log_history[0]
        self.assertIn("tools/call_frequency", logged)
        times = self.metrics(trainer, "timings.jsonl")[-1]
        self.assertGreater(times["timing_s/tools/multiply/p50"], 0)
        self.assertIn("timing_s/idle_for_tools", times)

    def test_coroutines_are_tools(self):
        async def multiply(a: int, b: int) -> int:
            """
            Multiplies.

            Args:
                a: One.
                b: Two.
            """
            await asyncio.sleep(0.01)
            return a * b + 1

        self.tool_trainer([multiply]).train()
        self.assertEqual({one[1]["content"] for one in self.seen[-1][1]}, {"7"})

    def test_exceptions_of_tools_are_texts(self):
        def multiply(a: int, b: int) -> int:
            """
            Fails.

            Args:
                a: One.
                b: Two.
            """
            raise ValueError("no")

        trainer = self.tool_trainer([multiply])
        trainer.train()
        self.assertEqual({one[1]["content"] for one in self.seen[-1][1]}, {"{'error': 'no'}"})
        self.assertEqual(self.metrics(trainer)[-1]["tools/failure_frequency"], 1)

    def test_iterations_have_a_limit(self):
        trainer = self.tool_trainer(max_tool_calling_iterations=0)
        trainer.train()
        self.assertEqual(self.roles(), [["assistant"]] * 8)
        self.assertEqual(self.metrics(trainer)[-1]["tools/call_frequency"], 0)

    def test_delays_change_nothing(self):
        lines = []
        for slowest in (0.0, 0.05):

            async def multiply(a: int, b: int, slowest: float = slowest) -> int:
                """
                Multiplies.

                Args:
                    a: One.
                    b: Two.
                    slowest: Seconds.
                """
                await asyncio.sleep(random.random() * slowest)
                return a * b

            trainer = self.tool_trainer([multiply], max_steps=3, learning_rate=1e-3, temperature=1.0)
            trainer.train()
            lines.append((pathlib.Path(trainer.args.output_dir) / "metrics.jsonl").read_bytes())
            self.output += "x"
        self.assertEqual(*lines)

    def test_a_tool_that_hangs_costs_its_episodes_alone(self):
        async def multiply(a: int, b: int) -> int:
            """
            Hangs.

            Args:
                a: One.
                b: Two.
            """
            await asyncio.sleep(60)
            return 1

        began = time.monotonic()
        trainer = self.tool_trainer(
            [multiply], recipe={"environment.timeout_s": 0.3, "train.preflight": False}
        )
        trainer.train()
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(self.metrics(trainer)[-1]["episodes/failed"], 8)

    def test_an_environment_has_an_instance_for_each_completion(self):
        Board.made = 0
        trainer = self.tool_trainer(
            tools=(), more={"environment_factory": Board}, max_steps=2, recipe={"train.preflight": False}
        )
        self.assertEqual(trainer.reward_func_names[-1], "Board")
        trainer.train()
        self.assertEqual(Board.made, 8)  # kept from step to step
        prompts, completions, columns = self.seen[-1]
        self.assertEqual(len({id(one) for one in columns["environments"]}), 8)
        self.assertEqual({one[1]["content"] for one in completions}, {"board says 6"})
        for prompt, environment in zip(prompts, columns["environments"], strict=True):
            row = environment.resets[-1]
            self.assertEqual(prompt[-1]["content"], f"{row['prompt'][-1]['content']} Level {row['level']}.")
        self.assertEqual(self.metrics(trainer)[-1]["rewards/Board/mean"], 0.6)

    def test_an_environment_may_give_the_reward_alone(self):
        trainer = self.tool_trainer(tools=(), reward_funcs=[], more={"environment_factory": Board})
        trainer.train()
        self.assertEqual(trainer.reward_func_names, ["Board"])

    def test_turns_have_rewards_and_states(self):
        Turns.asked = 0
        recipe, more = {"objective.preset": "gigpo", "train.preflight": False}, {"environment_factory": Turns}
        trainer = self.tool_trainer(tools=(), reward_funcs=[], more=more, recipe=recipe)
        trainer.train()
        self.assertEqual(trainer.reward_func_names, ["Turns"])
        self.assertEqual(Turns.asked, 3 * 8)  # after reset(), after the call and at the end
        self.assertAlmostEqual(self.metrics(trainer)[-1]["rewards/Turns/mean"], 1.1, places=12)
        for row in self.metrics(trainer, "completions.jsonl"):
            self.assertEqual([reward for _, reward in row["turn_rewards"]], [1.1 - 0.5])
        self.output += "x"
        with self.assertRaisesRegex(ValueError, "compares turns from the same state"):
            self.tool_trainer(tools=(), more={"environment_factory": Board}, recipe=recipe).train()
        with self.assertRaisesRegex(ValueError, "one class at most"):
            more = {"environment_factory": {"one": Turns, "two": type("More", (Turns,), {})}}
            self.tool_trainer(tools=(), more=more)

    def test_a_state_that_is_no_text_masks_its_completions(self):
        odd = type("Odd", (Turns,), {"state": property(lambda self: object())})
        more, recipe = {"environment_factory": odd}, {"train.preflight": False}
        trainer = self.tool_trainer(tools=(), more=more, recipe=recipe)
        with self.assertLogs("cohort.trainer.environments", "ERROR"):
            trainer.train()
        self.assertEqual(self.metrics(trainer)[-1]["episodes/failed"], 8)

    def test_rows_name_their_environment(self):
        rows = [{**row, "environment": "one" if i % 2 else "two"} for i, row in enumerate(ROWS)]
        trainer = self.tool_trainer(
            tools=(), rows=rows, more={"environment_factory": {"one": Board, "two": Other}}
        )
        self.assertEqual(trainer.reward_func_names[1:], ["Board", "Other"])
        trainer.train()
        for environment, row in zip(self.seen[-1][2]["environments"], self.seen[-1][2]["environment"]):
            self.assertIs(type(environment), Board if row == "one" else Other)
            self.assertNotIn("environment", environment.resets[-1])
        self.output += "x"
        with self.assertRaisesRegex(ValueError, "is not among the environments"):
            self.tool_trainer(tools=(), rows=ROWS, more={"environment_factory": {"one": Board}}).train()

    def test_an_environment_may_own_the_prompts(self):
        class Asks(Board):
            def reset(self, **row):
                super().reset(**row)
                return "Go 1."

        trainer = self.tool_trainer(tools=(), rows=None, more={"environment_factory": Asks})
        trainer.train()
        self.assertEqual({prompt[-1]["content"] for prompt in self.seen[-1][0]}, {"Go 1."})

    def test_what_is_no_environment_is_refused(self):
        class NoReset:
            pass

        with self.assertRaisesRegex(ValueError, "callable `reset`"):
            self.tool_trainer(tools=(), more={"environment_factory": NoReset})
        with self.assertRaisesRegex(ValueError, "same name"):
            self.tool_trainer([multiply, multiply])
        with self.assertRaisesRegex(ValueError, "train_dataset"):
            self.tool_trainer(rows=None)
        with self.assertRaisesRegex(ValueError, "set max_steps"):
            self.tool_trainer(tools=(), rows=None, more={"environment_factory": Board}, max_steps=-1)
        with self.assertRaisesRegex(ValueError, "requires a `train_dataset`"):
            self.tool_trainer(tools=(), rows=None, more={"environment_factory": {"one": Board}})

    def test_malformed_calls_are_answered(self):
        """A tool of another name: the call is read, and answered with an error."""

        def other(a: int) -> int:
            """
            Another tool.

            Args:
                a: A number.
            """
            return a

        trainer = self.tool_trainer([other])
        trainer.train()
        self.assertEqual(
            {one[1]["content"] for one in self.seen[-1][1]}, {"{'error': 'Tool multiply not found.'}"}
        )
        self.assertEqual(self.metrics(trainer)[-1]["tools/failure_frequency"], 1)


if __name__ == "__main__":
    unittest.main()
