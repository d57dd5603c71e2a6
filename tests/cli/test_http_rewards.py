"""Rewards over HTTP from outside: `cohort verify` and `cohort train` with servers that fail, and keys that never show.

COHORT=build/cohort python3 tests/cli/test_http_rewards.py
"""

import os
import pathlib
import socket
import subprocess
import sys
import unittest

import cli_case

SERVERS = cli_case.ROOT / "tests" / "rewards"
KEY = "sk-very-secret-0123456789"

setUpModule = cli_case.setUpModule


def closed_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class HttpRewardTest(cli_case.CliTest):
    def start(self, script):
        """The address of a server that ends with the test."""
        self.log = self.folder / f"{script}.{self.id()}.log"
        server = subprocess.Popen(
            [sys.executable, "-u", SERVERS / script, self.log], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.stdin.close)
        self.addCleanup(server.stdout.close)
        return f"http://127.0.0.1:{int(server.stdout.readline())}"

    def verify(self, table, completions):
        recipe = self.folder / "http.toml"
        recipe.write_text(f"[[reward]]\n{table}")
        rows = [{"prompt": "p", "completion": text} for text in completions]
        source = cli_case.write_lines(self.folder / "http.jsonl", rows)
        output = self.folder / "http-verified.jsonl"
        self.cohort("verify", "--reward-config", recipe, "--input", source, "--output", output)
        lines = cli_case.read_lines(output)
        self.assertEqual(len(lines), len(rows))
        for line in lines:
            self.assertTrue(line["status"] == "ok" or line["detail"], line)
        return lines

    def test_every_line_has_its_own_score(self):
        url = self.start("hostile_server.py")
        texts = [f"{'hostile' if i % 9 == 5 else 'score'} {i}" for i in range(90)]
        for mode, statuses in (("reset_once", {"ok"}), ("missing", {"error"}), ("wrong_id", {"error"})):
            with self.subTest(mode):
                table = f'name = "http"\nurl = "{url}/{mode}"\nbatch_size = 1\nworkers = 4\n'
                for i, line in enumerate(self.verify(table, texts)):
                    self.assertIn(line["status"], statuses if i % 9 == 5 else {"ok"}, line)
                    self.assertEqual(line["score"], i / 100 if line["status"] == "ok" else None)

    def test_a_server_that_is_down_costs_seconds(self):
        # 3000 rows with 3 attempts each: row by row that would be hours of pauses, and the test would not end.
        table = f'name = "http"\nurl = "http://127.0.0.1:{closed_port()}"\nbatch_size = 1\ntimeout_s = 60\n'
        lines = self.verify(table, ["score 1"] * 3000)
        self.assertEqual({line["status"] for line in lines}, {"error"})
        self.assertIn("failed several times in a row", lines[-1]["detail"])

    def test_a_judge(self):
        url = self.start("fake_openai.py")
        table = f'name = "style"\ntype = "judge"\nurl = "{url}/v1"\nmodel = "m"\nvotes = 2\nretries = 0\n'
        lines = self.verify(table, ["votes: 3 | 5", "votes: status: 500", "votes: 10"])
        self.assertEqual([line["score"] for line in lines], [0.4, None, 1])
        self.assertEqual([line["status"] for line in lines], ["ok", "error", "ok"])
        self.assertIn("[3.0,5.0]", lines[0]["detail"])

    def test_a_run_keeps_no_key(self):
        hostile, judge = self.start("hostile_server.py"), self.start("fake_openai.py")
        recipe = self.folder / "keyed.toml"
        recipe.write_text(f"""
            [rollout]
            prompts_per_step = 2
            num_generations = 2
            max_completion_length = 8
            [[reward]]
            name = "http"
            url = "{hostile}/leak_key_all"
            api_key_env = "COHORT_TEST_KEY"
            [[reward]]
            name = "judge"
            url = "{judge}/v1"
            model = "m"
            rubric = "votes: 4 | text: no | 6\\n{{completion}}"
            votes = 3
            api_key_env = "COHORT_TEST_KEY"
            [train]
            max_steps = 2
        """)
        prompts = cli_case.write_lines(self.folder / "keyed.jsonl", [{"prompt": "2 + 3 ="}, {"prompt": "a"}])
        run_dir = self.folder / "keyed-run"
        places = ("--model.path", self.model, "--data.path", prompts, "--run-dir", run_dir)
        command = [cli_case.PROGRAM, "train", recipe, *places]
        environment = {**os.environ, "COHORT_TEST_KEY": KEY, "OMP_NUM_THREADS": "1"}
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(KEY, result.stdout + result.stderr)
        self.assertIn(KEY, self.log.read_text(), "the key was sent")
        files = [path for path in pathlib.Path(run_dir).rglob("*") if path.is_file()]
        self.assertGreater(len(files), 3)
        for path in files:
            self.assertNotIn(KEY.encode(), path.read_bytes(), path)
        self.assertTrue(any(b"COHORT_TEST_KEY" in path.read_bytes() for path in files), "only its name")


if __name__ == "__main__":
    unittest.main()
