"""The page of `cohort view` in Chromium: completions that attack it, a run that goes on, and the arithmetic of curves."""

import shutil
import unittest
from urllib.parse import quote

from selenium.webdriver.common.keys import Keys
from view_page_case import PageCase, Server, read_lines
from view_runs import HOSTILE, add_long_line, make_run


class Arithmetic(PageCase):
    """The functions that make curves of figures, with values by hand."""

    def call(self, function, *values):
        script = """const [function_, values, done] = arguments;
            import('/assets/series.js').then((module) => done(module[function_](...values)), (error) => done(String(error)));"""
        return self.driver.execute_async_script(script, function, values)

    def test_curves_are_computed_right(self):
        server = Server(make_run(self.folder / "tiny", steps=2))
        self.addCleanup(server.close)
        self.open("recipe?run=0", server)
        smooth = self.call("smoothed", [1, None, 2, 3], 0.5)  # (1/4 + 1) / (3/4), (5/8 + 3/2) / (7/8)
        self.assertEqual([smooth[0], smooth[1]], [1, None])
        self.assertAlmostEqual(smooth[2], 5 / 3, 12)
        self.assertAlmostEqual(smooth[3], 17 / 7, 12)
        self.assertEqual(self.call("smoothed", [4, 5], 0), [4, 5])
        curves = [{"xs": [1, 2], "ys": [1, 5]}, {"xs": [2, 3], "ys": [7, 2]}]
        self.assertEqual(self.call("merged", curves), [[1, 1, None], [2, 5, 7], [3, None, 2]])
        band = self.call("band", curves)
        self.assertEqual(band, {"xs": [1, 2, 3], "low": [1, 5, 2], "mean": [1, 6, 2], "high": [1, 7, 2]})
        rows = [[1, 0, 5], [4, 0, 5], [9, 0, 5]]
        self.assertEqual([self.call("nearest", rows, x) for x in (0, 2, 3, 8, 99)], [0, 0, 1, 2, 2])
        self.assertEqual(self.call("withoutNonPositive", [[1, 0], [2, -1]]), [])
        one, other = (
            {"seed": 1, "a": {"b": 1, "c": 2}, "run": {"dir": "x"}},
            {"a": {"c": 2, "b": 1}, "seed": 2},
        )
        self.assertEqual(self.call("recipeWithoutSeed", one), self.call("recipeWithoutSeed", other))


class RunThatGoesOn(PageCase):
    def test_curves_follow_and_keep_their_zoom(self):
        run = make_run(self.folder / "live", steps=30)
        files = {
            name: (run / name).read_text().splitlines(keepends=True)
            for name in ("metrics.jsonl", "timings.jsonl")
        }
        for name, lines in files.items():
            (run / name).write_text("".join(lines[:20]))
        server = Server(run)
        self.addCleanup(server.close)
        self.open("curves?run=0&m=reward&from=3&to=9", server)
        card = '.pinned[data-metric="reward"] .value'
        self.wait(lambda: self.texts(card), "no value")
        self.wait(lambda: self.one("#live").text == "live", "no events")
        for name, lines in files.items():
            with (run / name).open("a") as file:
                file.write("".join(lines[20:]))
        wanted = read_lines(run / "metrics.jsonl")[-1]["reward"]
        self.wait(lambda: "step 30" in self.one("#progress").text, "the page does not follow the run")
        self.wait(
            lambda: abs(float(self.texts(card)[0] or "nan") - wanted) < 1e-3,
            "the curve does not follow the run",
        )
        self.assertIn("from=3&to=9", self.hash())
        self.assertEqual([box.get_property("value") for box in self.all("input.short")], ["3", "9"])

    def test_pages_that_were_left_hold_no_connection(self):
        server = Server(make_run(self.folder / "left", steps=2))
        self.addCleanup(server.close)
        for _ in range(8):  # a browser grants six connections to a server
            self.open("curves?run=0", server)
            self.wait(lambda: self.one("#live").text == "live", "no events")
            self.js("location.hash = '#/completions?run=0'")
            self.wait(lambda: self.all("tr[data-index]"), "no rows", seconds=10)


class RunThatHasEnded(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_dir = make_run(cls.folder / "ended", steps=20)
        cls.server = Server(cls.run_dir)
        cls.addClassCleanup(cls.server.close)

    def test_rewards_lead_to_completions_with_any_failed_reward(self):
        failed = sum(
            any(reward["status"] not in ("ok", "skipped") for reward in row["rewards"].values())
            for row in read_lines(self.run_dir / "completions.jsonl")
            if row["step"] >= 2
        )
        self.assertGreater(failed, 0)
        self.open("rewards?run=0&step_from=2")
        link = self.one("main p.note a")
        self.assertEqual(link.text, "Completions with any failed reward")
        self.assertFalse(self.all(".statuses td.num a"))  # a status has no filter of its own
        link.click()
        self.wait(lambda: self.all("tr[data-index]"), "no rows")
        self.assertIn(f"of {failed} (", self.texts(".dataTables_info")[0])

    def test_a_logarithmic_chart_says_that_the_newest_value_is_0(self):
        self.assertEqual(read_lines(self.run_dir / "metrics.jsonl")[-1]["learning_rate"], 0)
        self.open("curves?run=0&log=1&m=learning_rate")
        card = '.pinned[data-metric="learning_rate"]'
        self.wait(lambda: self.texts(f"{card} .value"), "no value")
        self.assertEqual(self.texts(f"{card} .value"), ["0"])
        self.one(f"{card} .chart").send_keys(Keys.HOME, Keys.END)
        self.assertEqual(self.texts(f"{card} .value"), ["0"])
        self.assertEqual(self.texts(f"{card} .at"), ["step 20"])


class HostileRun(PageCase):
    def setUp(self):
        super().setUp()
        run = make_run(self.folder / "hostile", steps=3, hostile=True)
        add_long_line(run)
        self.server = Server(run)
        self.addCleanup(lambda: shutil.rmtree(run))
        self.addCleanup(self.server.close)
        self.rows = read_lines(run / "completions.jsonl")

    def check_nothing_ran(self):
        self.assertIsNone(self.js("return window.attacked ?? null"))
        self.assertEqual(
            self.js(
                "return document.querySelectorAll('main script, main iframe, main img, main svg, main b[onclick]').length"
            ),
            0,
        )
        self.assertEqual(self.foreign_requests(), [])

    def test_texts_are_shown_and_do_nothing(self):
        shown = ""
        for prompt in dict.fromkeys(row["prompt_id"] for row in self.rows if row["step"] == 1):
            self.open(f"group?run=0&step=1&prompt={quote(prompt)}")
            shown += self.one("main").get_property("textContent")
            self.check_nothing_ran()
        self.screenshot("hostile")
        self.check_accessibility("hostile")
        for text in HOSTILE[:5] + HOSTILE[8:9]:
            self.assertIn(text, shown)
        for hidden in ("\x1b", "\u202e", "\u2066", "\u200b", "\x00", "\x01", "\x7f", "\x9b", "\r", "\ufeff"):
            self.assertNotIn(hidden, shown)
            self.assertIn(f"⟨U+{ord(hidden):04X}⟩", shown)
        for place in (
            "completions?run=0",
            "prompt?run=0",
            "recipe?run=0",
            "curves?run=0",
            "health?run=0",
            "rewards?run=0",
        ):
            self.open(place)
            self.check_nothing_ran()

    def test_ten_megabytes_are_shown_in_parts(self):
        last = self.rows[-1]
        self.open(
            f"group?run=0&step={last['step']}&prompt={quote(last['prompt_id'])}&sample={last['sample']}"
        )
        self.assertLess(self.js("return document.body.textContent.length"), 1_000_000)
        self.assertTrue(
            any(
                text.startswith("Show more") or text.startswith("Show the next")
                for text in self.texts("button.more")
            )
        )
        self.one("button.more").click()
        self.check_nothing_ran()

    def test_addresses_that_attack_are_refused(self):
        for place in ('group?run=0&step=<img src=x onerror="attacked=1">&prompt=<b>', "curves?run=99&m=<script>attacked=1</script>",
                      "compare?run=0&b=javascript:attacked=1", "nowhere?<script>"):  # fmt: skip
            self.open(quote(place, safe="?&=:"))
            self.check_nothing_ran()
        wrong = [entry for entry in self.driver.get_log("browser") if "status of 40" not in entry["message"]]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
