"""Runs on several processes: the same bytes as one process, whoever starts them; what differs is refused, and what is
lost is named.

COHORT=build/cohort python3 tests/cli/test_processes.py
"""

import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import unittest

from cli_case import CONFIG, DEMO, PROGRAM, must_run, read_lines, setUpModule, write_lines  # noqa: F401
from run_case import REWARD, RunsTest

FILES = ("metrics.jsonl", "completions.jsonl", "final/model.safetensors")
TEMPLATE = """{%- for m in messages -%}
{{ m.role[0] | upper }}:{{ m.content }}{{ eos_token if m.role == 'assistant' else '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}A:{%- endif -%}"""
AGENT = pathlib.Path(__file__).with_name("agent.py")
SLOTS = ("--dist.gradient-slots", 8)
AHEAD = ("--objective.ratio-anchor", "sampler", "--rollout.prompts-ahead")


PORTS = itertools.count(10000 + os.getpid() * 37 % 9000)


def free_port():
    """Below the ports that the system gives to connections of other tests."""
    while True:
        port = next(PORTS)
        with socket.socket() as listener:
            try:
                listener.bind(("", port))
            except OSError:
                continue
        return port


class ProcessesTest(RunsTest):
    def start(self, name, size, *options, environments=None, recipe=None):
        """The processes of a run, as torchrun would start them."""
        port = free_port()
        processes = []
        for rank in range(size):
            environment = {
                **os.environ,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(size),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                **((environments or {}).get(rank, {})),
            }
            own = [option[rank] if isinstance(option, list) else option for option in options]
            arguments = self.arguments("train", recipe or self.recipe, self.place / name, *own)
            processes.append(
                subprocess.Popen(
                    [PROGRAM, *map(str, arguments)],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env=environment,
                )
            )
        self.addCleanup(lambda: [process.kill() for process in processes])
        return processes

    def end(self, processes, timeout=120):
        """Exit codes and texts of standard error."""
        ended = [process.communicate(timeout=timeout) for process in processes]
        return [process.returncode for process in processes], [error for _, error in ended]

    def train_on(self, name, size, *options, **more):
        codes, errors = self.end(self.start(name, size, *options, **more))
        self.assertEqual(codes, [0] * size, errors)
        return errors

    def check_sizes(self, *options, sizes=(2, 4), files=FILES):
        self.train("one", *SLOTS, *options)
        for size in sizes:
            name = f"on-{size}"
            self.train_on(name, size, *SLOTS, *options)
            self.same_records(self.place / "one", self.place / name, files)

    def test_any_number_writes_the_same_bytes(self):
        self.check_sizes(sizes=(2, 4, 8))
        self.train("other-slots", "--dist.gradient-slots", 4)
        weights = [(self.place / name / FILES[2]).read_bytes() for name in ("one", "other-slots")]
        self.assertNotEqual(*weights)  # the order of sums is seen in the bytes

    def test_with_mini_batches_and_a_reference(self):
        self.check_sizes("--steps-per-generation", 2, "--objective.beta", 0.1, "--num-iterations", 2)

    def test_in_bfloat16(self):
        self.check_sizes("--model.dtype", "bfloat16", sizes=(2,))

    def test_with_adapters(self):
        files = ("metrics.jsonl", "completions.jsonl", "final/adapter_model.safetensors")
        self.check_sizes("--lora.r", 4, sizes=(2,), files=files)

    def test_with_a_critic(self):
        self.check_sizes("--objective.preset", "ppo", "--critic.lr", "1e-3", sizes=(2,))

    def test_with_a_reference_that_moves(self):
        moves = ("--objective.beta", 0.1, "--sync-ref-model", "true", "--ref-model-sync-steps", 1)
        self.check_sizes(*moves, sizes=(2,))

    def test_of_a_mixture(self):
        config = {
            **CONFIG,
            "architectures": ["Qwen3MoeForCausalLM"],
            "model_type": "qwen3_moe",
            "moe_intermediate_size": 24,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "decoder_sparse_step": 1,
        }
        file, model = self.place / "config.json", self.place / "mixture"
        file.write_text(json.dumps(config))
        must_run("init", "--config", file, "--tokenizer", DEMO, "--seed", 3, "--output", model)
        self.check_sizes("--model.path", model, "--router-aux-loss-coef", 0.01)

    def play_games(self):
        """Options of a run with episodes of several turns."""
        (self.place / "template.jinja").write_text(TEMPLATE)
        self.reward.write_text(REWARD.replace("map(ord, text)", "map(ord, str(text))"))
        game = [
            {"prompt": [{"role": "user", "content": f"Game {i}."}], "low": 1, "high": 9} for i in range(7)
        ]
        self.data = write_lines(self.place / "games.jsonl", game)
        stops = f"[rollout]\nstop_token_ids = {list(range(20, 120))}"  # a random policy's turns end soon
        self.recipe.write_text(self.recipe.read_text().replace("[rollout]", stops))
        return (
            *("--model.chat-template", self.place / "template.jinja", "--environment.name", "guess_number"),
            *("--environment.max-turns", 4, "--max-completion-length", 60),
        )

    def test_in_episodes(self):
        self.check_sizes(*self.play_games())
        turns = [line["episodes/max_turns"] for line in read_lines(self.place / "one/metrics.jsonl")]
        self.assertGreater(max(turns), 1)

    def test_with_agents(self):
        options = self.play_games()[:2]
        agent = ("--agent.command", f"{sys.executable} {AGENT} plays", "--max-completion-length", 100)
        self.check_sizes(*options, *agent, sizes=(2,))
        turns = [line["episodes/max_turns"] for line in read_lines(self.place / "one/metrics.jsonl")]
        self.assertGreater(max(turns), 1)
        for how in ((*agent, "--agent.port", free_port()), ("--agent.serve", "true")):
            for error in self.refused(*options, *how):
                self.assertIn("each process of a run serves the policy at an endpoint of its own", error)

    def test_with_prompts_that_are_drawn_ahead(self):
        self.check_sizes(*AHEAD, 1)
        rows = read_lines(self.place / "one/completions.jsonl")
        self.assertEqual({row["policy_version"] for row in rows if row["step"] == 3}, {1, 2})
        weighed = ("--objective.importance-sampling-mode", "token_truncate", "--rollout.prompts-ahead", 2)
        for name, options in {"anchored": (*AHEAD, 1), "weighed": weighed}.items():
            self.train(name, *options, "--save-steps", 1, "--save-total-limit", 9, "--save-batches", "true")
            for step in (1, 3):
                must_run("replay", self.place / name, "--step", step, "--check")

    def test_with_episodes_that_are_drawn_ahead(self):
        self.check_sizes(*self.play_games(), *AHEAD, 1, sizes=(2,))

    def test_a_checkpoint_is_one_model_in_shards(self):
        self.train_on("two", 2, *SLOTS)
        checkpoint = self.place / "two/checkpoints/step-00000004"
        shards = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
        index = json.loads((checkpoint / "model.safetensors.index.json").read_text())
        self.assertEqual(sorted(set(index["weight_map"].values())), shards)
        self.assertFalse((checkpoint / "model.safetensors").exists())
        must_run("merge", "--model", checkpoint, "--output", self.place / "merged")
        self.same_records(self.place / "merged", self.place / "two/final", ("model.safetensors",))
        (checkpoint / shards[1]).unlink()
        error = self.train("two", *SLOTS, "--max-steps", 6, "--resume", code=2)
        self.assertIn(shards[1], error.splitlines()[-1])

    def test_with_groups_that_are_selected(self):
        self.check_sizes(
            "--dynamic-sampling", "true", "--max-num-gen-batches", 3, "--keep-generations", 2, sizes=(2,)
        )

    def test_with_trees_and_greedy_baselines(self):
        tree = ("--objective.preset", "treepo", "--rollout.tree-depth", 2, "--rollout.num-generations", 4)
        self.check_sizes(*tree, sizes=(2,))
        self.train("greedy", *SLOTS, "--objective.preset", "remax")
        self.train_on("greedy-2", 2, *SLOTS, "--objective.preset", "remax")
        self.same_records(self.place / "greedy", self.place / "greedy-2", FILES)

    def test_one_process_writes_what_is_said(self):
        errors = self.train_on("run", 2)
        self.assertIn("memory planned for each of 2 processes on this machine: ", errors[0])
        self.assertEqual(errors[1], "")

    def test_resumed_on_another_number(self):
        for name, options in {
            "plain": (),
            "critic": ("--objective.preset", "ppo", "--critic.lr", "1e-3"),
            "ahead": (*AHEAD, 2),
        }.items():
            self.train(f"{name}-1", *SLOTS, *options)
            for sizes in ((2, 4), (2, 1), (1, 2)):
                run_dir = f"{name}-{sizes[0]}-{sizes[1]}"
                self.train_on(run_dir, sizes[0], *SLOTS, *options)
                self.step_back(self.place / run_dir)
                self.train_on(run_dir, sizes[1], *SLOTS, *options, "--resume")
                self.same_records(self.place / f"{name}-1", self.place / run_dir, FILES)

    def test_a_signal_ends_all_after_a_checkpoint(self):
        processes = self.start("run", 2, "--max-steps", 4000, "--save-steps", 0)
        metrics = self.place / "run" / "metrics.jsonl"
        self.wait_for(lambda: metrics.exists() and metrics.read_text().count("\n") > 2)
        processes[1].send_signal(signal.SIGTERM)
        codes, errors = self.end(processes)
        self.assertEqual(codes, [128 + signal.SIGTERM] * 2, errors)
        self.assertEqual(len(list((self.place / "run" / "checkpoints").iterdir())), 1)

    def test_ends_with_the_agent_that_started_it(self):
        agent = (
            "import os, subprocess, sys, time\n"
            "print(subprocess.Popen(sys.argv[1:]).pid, flush=True)\n"
            "time.sleep(600)"
        )
        place = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
        place |= {"MASTER_PORT": str(free_port()), "TORCHELASTIC_RUN_ID": "job"}
        command = [PROGRAM, *self.arguments("train", self.recipe, self.place / "run", *SLOTS)]
        parent = subprocess.Popen(
            ["python3", "-c", agent, *map(str, command)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **place},
        )
        pid = int(parent.stdout.readline())

        def runs():
            try:
                with open(f"/proc/{pid}/stat") as file:
                    return file.read().rsplit(")", 1)[1].split()[0] != "Z"
            except FileNotFoundError:
                return False

        time.sleep(1.0)  # it waits for rank 1
        self.assertTrue(runs())
        parent.kill()
        parent.wait()
        parent.stdout.close()
        self.wait_for(lambda: not runs(), limit_s=10)

    def wait_for(self, condition, limit_s=60):
        end = time.monotonic() + limit_s
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def lose(self, how, victim):
        """What a run of two says of the process that gets a signal."""
        processes = self.start("run", 2, "--max-steps", 4000)
        metrics = self.place / "run" / "metrics.jsonl"
        self.wait_for(lambda: metrics.exists() and metrics.read_text().count("\n") > 2)
        processes[victim].send_signal(how)
        other = processes[1 - victim]
        _, error = other.communicate(timeout=60)
        self.assertEqual(other.returncode, 75, error)
        processes[victim].kill()
        processes[victim].communicate()
        return error

    def test_a_killed_process_is_named(self):
        self.assertRegex(
            self.lose(signal.SIGKILL, 1), r"cohort: rank 1 \(.*, process \d+\) has given no sign"
        )

    def test_a_killed_holder_of_the_store_is_named(self):
        self.assertRegex(self.lose(signal.SIGKILL, 0), r"cohort: rank 0 .*does not answer")

    def test_a_stopped_process_is_named(self):
        self.assertRegex(
            self.lose(signal.SIGSTOP, 1), r"cohort: rank 1 \(.*, process \d+\) has given no sign"
        )

    def test_a_stopped_holder_of_the_store_is_named(self):
        self.assertRegex(self.lose(signal.SIGSTOP, 0), r"cohort: rank 0")

    def refused(self, *options, size=2, environments=None):
        codes, errors = self.end(self.start("run", size, *options, environments=environments))
        self.assertEqual(codes, [2] * size, errors)
        self.assertFalse((self.place / "run").exists())
        return errors

    def test_processes_of_different_runs_are_refused(self):
        for error in self.refused("--seed", [3, 4]):
            self.assertIn("rank 1 was started with another recipe than rank 0: ", error)
            self.assertIn("seed = 4", error)

    def test_different_flags_are_refused(self):
        self.train("run")
        before = (self.place / "run/metrics.jsonl").read_bytes()
        codes, errors = self.end(self.start("run", 2, ["--resume", "--resume=false"]))
        self.assertEqual(codes, [2, 2], errors)
        self.assertIn('another --resume than rank 0: "no" there and "yes" in rank 0', errors[0])
        self.assertEqual((self.place / "run/metrics.jsonl").read_bytes(), before)

    def test_other_instructions_are_refused(self):
        for error in self.refused(environments={1: {"COHORT_CPU_ARCH": "base"}}):
            self.assertIn("rank 1 was started with another instruction set than rank 0: ", error)

    def test_slots_that_do_not_fit_are_refused(self):
        for error in self.refused("--dist.gradient-slots", 8, size=3):
            self.assertIn("dist.gradient_slots is 8 and there are 3 processes: take 3, 6, 12", error)

    def test_an_error_of_one_is_told_to_the_other(self):
        # The first process tries the reward before the first step.
        self.reward.write_text(
            f"import os\nif os.environ['RANK'] == '0':\n    raise OSError('no licence')\n{REWARD}"
        )
        codes, errors = self.end(self.start("run", 2))
        self.assertEqual(codes, [2, 75], errors)
        self.assertIn("no licence", errors[0])
        self.assertRegex(errors[1], r"cohort: rank 0 .*has ended by an error, which its own output tells")

    def test_other_commands_run_alone(self):
        environment = {**os.environ, "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2"}
        environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        result = subprocess.run(
            [
                PROGRAM,
                "sft",
                "--model.path",
                self.model,
                "--data.path",
                self.data,
                "--run-dir",
                self.place / "run",
            ],
            capture_output=True,
            text=True,
            env=environment,
        )
        self.assertEqual(result.returncode, 2)
        self.assertIn("cohort sft runs as one process, and torchrun started 2", result.stderr)


if __name__ == "__main__":
    unittest.main()
