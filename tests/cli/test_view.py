"""The commands that show and explain runs, from outside: view, report, explain, diff, watch, trace and preflight.

COHORT=build/cohort python3 tests/cli/test_view.py
"""

import json
import os
import pty
import re
import signal
import subprocess
import unittest
import urllib.error
import urllib.request

from cli_case import PROGRAM, read_lines, run, setUpModule  # noqa: F401
from run_case import RunsTest


def get(address, path):
    with urllib.request.urlopen(address + path, timeout=30) as answer:
        return answer.read().decode()


class ViewTest(RunsTest):
    def setUp(self):
        super().setUp()
        self.train("run")
        self.run_dir = self.place / "run"

    def serve(self, *options):
        command = [PROGRAM, "view", self.run_dir, *options]
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        self.assertTrue(address, line)
        return process, address.group()

    def test_serves_what_the_files_hold_until_it_is_interrupted(self):
        process, address = self.serve()
        (one,) = json.loads(get(address, "api/runs"))
        self.assertEqual((one["step"], one["is_finished"], one["kind"]), (4, True, "train"))
        figures = json.loads(get(address, "api/figures?run=0&name=reward&name=entropy"))["figures"]
        rows = read_lines(self.run_dir / "metrics.jsonl")
        for name in ("reward", "entropy"):
            self.assertEqual(figures[name]["steps"], [1, 2, 3, 4])
            self.assertEqual(figures[name]["values"], [row[name] for row in rows])
        page = json.loads(get(address, "api/completions?run=0&step_from=2&step_to=2&sort=reward"))
        expected = sorted(
            row["reward"] for row in read_lines(self.run_dir / "completions.jsonl") if row["step"] == 2
        )
        self.assertEqual([row["reward"] for row in page["rows"]], expected)
        plan = json.loads((self.run_dir / "memory_plan.json").read_text())
        timeline = json.loads(get(address, "api/timeline?run=0&step=2"))
        self.assertAlmostEqual(timeline["planned_gb"], plan["total_bytes"] / 2**30)
        self.assertIn('figure="reward"', get(address, "metrics"))
        self.assertIn("<title>", get(address, ""))
        with self.assertRaises(urllib.error.HTTPError) as refused:
            get(address, "assets/../../../../etc/passwd")
        self.assertEqual(refused.exception.code, 404)
        refused.exception.close()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 0)

    def test_asks_for_a_token_where_others_reach_it(self):
        _, address = self.serve("--host", "0.0.0.0")
        root, token = address.split("?token=")
        local = root.replace("0.0.0.0", "127.0.0.1")
        self.assertGreaterEqual(len(token), 22)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            get(local, "api/runs")
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()
        self.assertEqual(len(json.loads(get(local, f"api/runs?token={token}"))), 1)

    def test_writes_a_report_that_needs_no_network(self):
        for name in ("report.html", "report.md"):
            self.cohort("report", self.run_dir, "--output", self.place / name)
        page = (self.place / "report.html").read_text()
        self.assertIn("<svg", page)
        self.assertNotRegex(page, r"<script|src=\"http|href=\"http|@import")
        self.assertIn("](<report-chart-1.svg>)", (self.place / "report.md").read_text())
        self.assertTrue((self.place / "report-chart-1.svg").exists())
        result = run("report", self.run_dir, "--output", self.place / "report.pdf")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn(".html", result.stderr)
        result = run("report", self.run_dir, "--output", self.place / "missing" / "report.html")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--output", result.stderr)
        self.assertIn(f"no folder {self.place / 'missing'}", result.stderr)

    def test_reports_evaluations_and_the_version(self):
        files = [self.place / "before.json", self.place / "after.json"]
        for path, seed in zip(files, (1, 2)):
            judged = ("--reward-config", self.recipe, "--reward", "sum", "--num-generations", 2)
            self.cohort(
                *("eval", "--model", self.run_dir / "final", "--input", self.data, "--seed", seed, *judged),
                *("--max-completion-length", 6, "--output", path),
            )
        flags = [word for path in files for word in ("--evaluation", path)]
        self.cohort("report", self.run_dir, *flags, "--output", self.place / "report.html")
        page = (self.place / "report.html").read_text()
        for path in files:
            self.assertIn(str(path), page)
            evaluation = json.loads(path.read_text())
            mean = re.search(re.escape(str(path)) + r".*?sum: mean</td><td>([-0-9.e]+)<", page, re.S)
            self.assertAlmostEqual(float(mean[1]), evaluation["mean"], delta=5e-4)
        version = self.cohort("--version").stdout.split(",")[0]
        self.assertIn(version, page)
        result = run("report", self.run_dir, "--evaluation", self.data, "--output", self.place / "r.md")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("rows.jsonl", result.stderr)

    def test_explains_metrics_settings_and_runs(self):
        self.assertIn("denominator", self.cohort("explain", "frac_reward_zero_std").stdout)
        self.assertIn("setting of cohort train", self.cohort("explain", "objective.beta").stdout)
        self.assertEqual(json.loads(self.cohort("explain", self.run_dir, "--json").stdout)["findings"], [])
        unknown = run("explain", "entropi")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("entropy", unknown.stderr)

    def test_compares_runs(self):
        self.train("other", "--optimizer.learning_rate", 1e-2)
        (change,) = [
            change
            for change in json.loads(
                self.cohort("diff", self.run_dir, self.place / "other", "--json").stdout
            )["settings"]
            if change["key"].startswith("optimizer")
        ]
        self.assertEqual(change, {"key": "optimizer.learning_rate", "a": 1e-3, "b": 1e-2})

    def test_watches_a_run(self):
        line = self.cohort("watch", self.run_dir).stdout
        self.assertRegex(line, r"\Astep 4 of 4  reward ")

    def test_training_draws_a_panel_on_a_terminal(self):
        terminal, other_end = pty.openpty()
        command = [PROGRAM, *self.arguments("train", self.recipe, self.place / "shown", "--max-steps", 40)]
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=other_end)
        os.close(other_end)
        shown = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the program has closed it
                break
            if not part:
                break
            shown += part
        os.close(terminal)
        self.assertEqual(process.wait(), 0)
        text = shown.decode()
        self.assertIn("shown", text)
        self.assertRegex(text, r"step \d+ of 40")
        self.assertIn("entropy", text)

    def test_traces_steps(self):
        path = self.place / "trace.json"
        self.cohort("trace", self.run_dir, "--output", path)
        (resource,) = json.loads(path.read_text())["resourceSpans"]
        spans = resource["scopeSpans"][0]["spans"]
        names = [span["name"] for span in spans if "parentSpanId" not in span]
        self.assertEqual(names, ["step 1", "step 2", "step 3", "step 4"])
        times = {row["step"]: row["timing_s/step"] for row in read_lines(self.run_dir / "timings.jsonl")}
        lasted = [
            int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"]) for s in spans if s["name"] == "step 2"
        ]
        self.assertAlmostEqual(lasted[0] / 1e9, times[2], places=5)

    def test_preflight_estimates_a_run_and_leaves_nothing(self):
        before = sorted(self.place.iterdir())
        command = self.arguments("preflight", self.recipe, self.place / "tried", "--max-steps", 100, "--json")
        result = json.loads(self.cohort(*command).stdout)
        self.assertEqual(sorted(self.place.iterdir()), before)
        self.assertEqual((result["steps"], result["completions"], result["groups"]), (100, 30, 10))
        self.assertAlmostEqual(result["run_s"], 100 * result["step_s"])
        self.assertEqual(result["rewards"]["sum"]["counts"], {"ok": 30})
        rows = read_lines(self.run_dir / "completions.jsonl")
        self.assertGreater(result["planned_memory_bytes"], 0)
        self.assertLess(result["mean_tokens"], 7)
        self.assertTrue(rows)

    def test_preflight_names_a_failing_reward(self):
        self.reward.write_text("def rising(completions, **columns):\n    raise LookupError('nothing here')\n")
        result = run(*self.arguments("preflight", self.recipe, self.place / "tried"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("nothing here", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
