"""The page of `cohort view` in Chromium: each view of a real run, what it shows beside what the files say, keyboard,
accessibility, a phone.

COHORT names the program that makes the runs, VIEW_SERVER the server, VIEW_SCREENSHOTS the folder for pictures of each view."""

import json
import statistics
import subprocess
import unittest
from urllib.parse import quote

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from view_page_case import PHONE, PageCase, Server, close_to, read_lines
from view_real_runs import COHORT, ENVIRONMENT, make_real_runs

VIEWS = ["curves", "completions", "prompt", "rewards", "timeline", "compare", "health", "recipe"]


class RealRun(PageCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs = make_real_runs(cls.folder)
        cls.server = Server(*cls.runs)
        cls.addClassCleanup(cls.server.close)
        cls.completions = read_lines(cls.runs[0] / "completions.jsonl")
        cls.metrics = read_lines(cls.runs[0] / "metrics.jsonl")
        cls.timings = read_lines(cls.runs[0] / "timings.jsonl")

    def places(self):
        first = self.completions[0]
        of_prompt = f"prompt={quote(first['prompt_id'])}"
        views = {view: f"{view}?run=0" for view in VIEWS}
        views |= {"group": f"group?run=0&step=1&{of_prompt}", "one-prompt": f"prompt?run=0&{of_prompt}"}
        return views | {"two-runs": "curves?run=0&runs=0,1&smooth=0.5&bands=1&m=reward&m=entropy"}

    def test_each_view_opens_in_light_and_dark_and_passes_axe(self):
        for scheme in ("light", "dark"):
            self.prefer(scheme)
            for name, place in self.places().items():
                with self.subTest(view=name, scheme=scheme):
                    self.open(place)
                    self.assertEqual(self.js("return document.documentElement.dataset.theme"), scheme)
                    self.assertEqual(len(self.all("h1")), 1)
                    self.screenshot(f"{name}-{scheme}")
                    self.assertEqual(self.texts(".failed:not([hidden])"), [])
                    self.check_accessibility(name)
                    self.check_console()
        self.assertEqual(self.foreign_requests(), [])

    def test_a_phone_shows_each_view_without_scrolling_sideways(self):
        self.resize(PHONE)
        for name, place in self.places().items():
            with self.subTest(view=name):
                self.open(place)
                self.screenshot(f"{name}-phone")
                self.assertEqual(self.texts(".failed:not([hidden])"), [])
                self.assertLessEqual(self.js("return document.scrollingElement.scrollWidth"), PHONE[0])
                self.check_accessibility(name)

    def test_ten_figures_are_those_of_the_files(self):
        last, rows = self.metrics[-1], self.completions
        self.open(
            "curves?run=0&"
            + "&".join(f"m={name}" for name in ("reward", "entropy", "grad_norm", "completions/mean_length"))
        )
        for name in ("reward", "entropy", "grad_norm", "completions/mean_length"):  # figures 1 to 4
            card = f'.pinned[data-metric="{name}"] .value'
            self.wait(lambda card=card: self.all(card), f"{name} has no value")
            close_to(self, self.texts(card)[0], last[name])
        self.open("completions?run=0")  # 5: all completions
        self.wait(lambda: self.rows(), "no rows")
        self.assertIn(f"of {len(rows)}", self.texts(".dataTables_info")[0])
        first = rows[0]
        group = [row for row in rows if row["step"] == 1 and row["prompt_id"] == first["prompt_id"]]
        self.open(
            f"group?run=0&step=1&prompt={quote(first['prompt_id'])}"
        )  # 6 and 7: a group's mean and a sample's advantage
        close_to(self, self.texts("#mean")[0], statistics.mean(row["reward"] for row in group))
        shown = {
            int(card.get_attribute("data-sample")): card.find_element(By.CSS_SELECTOR, ".advantage").text
            for card in self.all(".sample")
        }
        for row in group:
            close_to(self, shown[row["sample"]], row["advantage"], digits=3)
        self.open("rewards?run=0")  # 8: completions whose reward is ok
        ok = sum(row["rewards"]["accuracy"]["status"] == "ok" for row in rows)
        header = self.texts(".statuses thead th")
        cells = [row.find_elements(By.TAG_NAME, "td") for row in self.all(".statuses tbody tr")]
        accuracy = next(row for row in cells if row[0].text == "accuracy")
        self.assertEqual(int(accuracy[header.index("ok")].text), ok)
        self.open("timeline?run=0&step=8")  # 9 and 10: time of sampling, memory
        found = {row[0]: row[3] for row in self.table_rows("Parts of the step")}
        seconds = {"µs": 1e-6, "ms": 1e-3, "s": 1}
        value, unit = found["gen"].split()
        close_to(self, str(float(value) * seconds[unit]), self.timings[-1]["timing_s/gen"], digits=3)
        close_to(
            self,
            self.texts("#memory")[0].split()[0],
            self.timings[-1]["perf/max_memory_allocated_gb"],
            digits=3,
        )

    def table_rows(self, caption):
        script = """const table = [...document.querySelectorAll('table')].find((one) => one.caption?.textContent === arguments[0]);
            return [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent));"""
        return self.js(script, caption)

    def rows(self):
        script = "return [...document.querySelectorAll('tr[data-index]')].map((row) => [...row.cells].map((cell) => cell.textContent))"
        return self.js(script)

    def test_the_table_filters_sorts_and_keeps_that_in_its_address(self):
        self.open("completions?run=0")
        self.wait(self.rows, "no rows")
        self.fill("input[name=step_from]", "5")
        long = sorted(row["tokens"] for row in map(self.summary, self.completions) if row["step"] >= 5)[-3]
        self.fill("input[name=tokens_from]", str(long))
        wanted = [
            row for row in map(self.summary, self.completions) if row["step"] >= 5 and row["tokens"] >= long
        ]
        self.wait(lambda: len(self.rows()) == len(wanted), f"{len(wanted)} rows were expected")
        self.js("[...document.querySelectorAll('th')].find((one) => one.textContent === 'Tokens').click()")
        self.wait(
            lambda: [int(row[5]) for row in self.rows()] == sorted(row["tokens"] for row in wanted),
            "the rows are not sorted",
        )
        self.driver.refresh()
        self.settle()
        self.wait(
            lambda: [int(row[5]) for row in self.rows()] == sorted(row["tokens"] for row in wanted),
            "the address forgot the filter",
        )
        self.js("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Clear').click()")
        self.wait(lambda: len(self.rows()) == 50, "the filter was not cleared")
        text = self.completions[7]["completion"][5:15]
        self.fill("input[name=text]", text.upper())
        count = sum(
            text.lower() in (row["prompt"] + "\0" + row["completion"]).lower() for row in self.completions
        )
        self.wait(
            lambda: f"of {count}" in self.texts(".dataTables_info")[0], f"{count} completions have {text!r}"
        )
        self.fill("input[name=text]", "no completion says this")
        self.wait(
            lambda: not self.rows() and "No completion matches" in self.one("tbody").text,
            "rows without the text",
        )

    def test_a_search_goes_on_until_it_has_seen_all(self):
        """The server of this test says of its first answers that it has seen a part."""
        script = """
            const whole = window.fetch;
            window.asked = [];
            window.fetch = async (address, options) => {
                if (!address.startsWith('api/completions')) return whole(address, options);
                window.asked.push(new URLSearchParams(address.split('?')[1]));
                const answer = await (await whole(address, options)).json();
                if (window.asked.length < arguments[0])
                    Object.assign(answer, {is_complete: false, num_searched: 10, matched: Math.min(answer.matched, 60)});
                return new Response(JSON.stringify(answer));
            };"""
        text = self.completions[0]["completion"][0]
        count = sum(
            text.lower() in (row["prompt"] + "\0" + row["completion"]).lower() for row in self.completions
        )
        self.assertGreater(count, 60)
        for sort, first in (("order", 1), ("tokens", 10)):  # requests until there are rows
            with self.subTest(sort=sort):
                self.open("curves?run=0")
                self.js(script, 20)
                self.js(f"location.hash = '#/completions?run=0&text={quote(text)}&sort={sort}'")
                self.wait(lambda: self.rows(), "no rows")
                self.assertEqual(self.js("return window.asked.length"), first)
                self.assertEqual(
                    self.texts(".dataTables_info")[0],
                    f"1 to 50 of at least 60 (of {len(self.completions)} in all)",
                )
                self.assertIn(
                    f"seen {self.percent(10)} of the completions: at least 60 match",
                    self.one("main > p.note").text,
                )
                self.check_accessibility("a search")
                self.screenshot(f"search-{sort}")
                button = self.one("main > button")
                self.assertEqual(button.text, "Search on")
                button.click()
                self.wait(
                    lambda: f"50 of {count}" in self.texts(".dataTables_info")[0], "the search did not end"
                )
                self.assertFalse(button.is_displayed() or self.one("main > p.note").is_displayed())
                asked = self.js("return window.asked.map((one) => [one.get('sort'), one.get('limit')])")
                self.assertEqual(
                    asked, [[sort, "50"]] * first + [[sort, "0"]] * (20 - first) + [[sort, "50"]]
                )
                if sort == "tokens":
                    tokens = [int(row[5]) for row in self.rows()]
                    self.assertEqual(tokens, sorted(tokens))

    def percent(self, count):
        share = 100 * count / len(self.completions)
        return f"{float(f'{share:.3g}'):g} %"

    def test_all_flags_of_an_address_are_shown(self):
        self.open("completions?run=0&flag=cut&flag=failed")
        checked = "return [...document.querySelectorAll('.choices label')].filter((one) => one.control.checked).map((one) => one.textContent)"
        self.assertEqual(self.js(checked), ["cut", "failed"])
        self.js("[...document.querySelectorAll('.choices label')][0].click()")
        self.wait(lambda: "flag=failed" in self.hash() and "flag=cut" not in self.hash(), "the flag stays")
        self.assertEqual(self.js(checked), ["failed"])
        self.js("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Clear').click()")
        self.wait(lambda: "flag" not in self.hash(), "the flags were not cleared")
        self.assertEqual(self.js(checked), [])

    def test_prompts_are_sorted_as_they_first_came(self):
        self.open("completions?run=0&sort=prompt")
        self.wait(self.rows, "no rows")
        first = list(dict.fromkeys(row["prompt_id"] for row in self.completions))
        shown = [first.index(row[1]) for row in self.rows()]
        self.assertEqual(shown, sorted(shown))
        self.assertEqual(shown[0], 0)

    def test_the_memory_plan_has_units(self):
        self.open("recipe?run=0")
        plan = json.loads((self.runs[0] / "memory_plan.json").read_text())
        rows = dict(self.table_rows("Memory plan"))
        units = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
        wanted = {"total": plan["total_bytes"]} | {
            f"{phase}: {part}": bytes
            for phase in ("always", "sampling", "updating")
            for part, bytes in plan[phase].items()
        }
        self.assertEqual(set(rows), set(wanted))
        for name, text in rows.items():
            value, unit = text.split(" ")
            close_to(self, str(float(value) * units[unit]), wanted[name], digits=3)

    def test_a_change_of_the_run_brings_its_recipe_anew(self):
        self.open("recipe?run=0")
        script = """const done = arguments[0];
            import('/assets/figures.js').then(({runDetails, forget}) => {
                const before = runDetails(0), again = runDetails(0);
                forget(0);
                done([before === again, before === runDetails(0)]);
            });"""
        self.assertEqual(self.driver.execute_async_script(script), [True, False])

    def test_other_has_a_neutral_color(self):
        self.open("timeline?run=0&step=8")
        script = """const other = [...document.querySelectorAll('.part')].find((one) => one.title.startsWith('other:'));
            const neutral = document.createElement('i');
            neutral.style.background = 'var(--strong-line)';
            document.body.append(neutral);
            return [other, neutral].map((one) => getComputedStyle(one).backgroundColor);"""
        shown, neutral = self.js(script)
        self.assertEqual(shown, neutral)

    @staticmethod
    def summary(row):
        return {"step": row["step"], "tokens": len(row["logprobs"])}

    def test_the_keyboard_goes_everywhere(self):
        self.open("curves?run=0")
        self.keys(Keys.TAB)
        self.assertEqual(self.focused("id"), "skip")
        self.keys(Keys.ENTER)
        self.assertEqual(self.focused("id"), "main")
        self.keys("2")
        self.wait(self.rows, "key 2 opens the completions")
        self.js("document.querySelector('tr[data-index]').focus()")
        self.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        self.assertEqual(self.js("return document.activeElement.dataset.index"), "2")
        self.keys(Keys.ENTER)
        self.wait(lambda: self.hash().startswith("#/group"), "Enter opens the group")
        self.settle()
        self.assertEqual(
            self.one(".sample.chosen").get_attribute("data-sample"), str(self.completions[2]["sample"])
        )
        self.assertEqual(self.texts(".walk .off"), ["no earlier step"])
        prompt = self.completions[2]["prompt_id"]
        later = next(
            row["step"] for row in self.completions if row["step"] > 1 and row["prompt_id"] == prompt
        )
        self.assertEqual(self.texts(".walk a"), [f"step {later} →"])
        self.keys("]")
        self.wait(lambda: self.texts("h1") not in ([], ["Step 1"]), "] goes to the prompt's next step")
        self.settle()
        self.keys("?")
        self.assertTrue(self.one("dialog").is_displayed())
        self.check_accessibility("the dialog")
        self.keys(Keys.ESCAPE)
        self.assertFalse(self.all("dialog[open]"))
        before = self.js("return document.documentElement.dataset.theme")
        self.keys("t")
        self.assertNotEqual(self.js("return document.documentElement.dataset.theme"), before)
        self.keys("t")
        self.keys("1")
        self.wait(lambda: self.all(".card"), "key 1 opens the curves")
        self.keys("/")
        self.assertEqual(self.focused("type"), "search")
        self.keys("grad_norm")
        self.wait(lambda: self.texts("button.metric") == ["grad_norm"], "the search finds grad_norm alone")
        self.js("localStorage.clear()")

    def test_a_link_brings_back_the_curves(self):
        place = "curves?run=0&runs=0%2C1&smooth=0.5&log=1&m=reward&m=entropy&from=2&to=6"
        self.open(place)
        for _ in range(2):
            self.assertEqual(self.texts(".pinned .metric"), ["reward", "entropy"])
            self.assertEqual(self.one("input[type=range]").get_property("value"), "0.5")
            shown = [box.get_property("value") for box in self.all("input.short")]
            self.assertEqual(shown, ["2", "6"])
            self.assertEqual(
                [box.get_attribute("aria-pressed") for box in self.all(".toggle")], ["true", "true"]
            )
            self.driver.refresh()
            self.settle()
        self.all(".toggle")[1].click()
        self.wait(lambda: "runs=" not in self.hash(), "the address keeps a run that was dropped")

    def test_a_metric_explains_itself_and_the_cross_hair_shows_values(self):
        self.open("curves?run=0&m=reward&m=grad_norm")
        title = self.one('.pinned[data-metric="grad_norm"] .metric')
        self.js("arguments[0].focus()", title)
        self.assertIn("Euclidean norm", self.one("#metric-help").text)
        self.assertIn("Healthy", self.one("#metric-help").text)
        title.send_keys(Keys.ESCAPE)
        self.assertFalse(self.one("#metric-help").is_displayed())
        ActionChains(self.driver).move_to_element(title).perform()
        self.assertTrue(self.one("#metric-help").is_displayed())
        chart = self.one('.pinned[data-metric="grad_norm"] .chart')
        self.wait(lambda: chart.find_elements(By.TAG_NAME, "canvas"), "no chart")
        chart.send_keys(Keys.HOME, Keys.ARROW_RIGHT)
        for name in ("grad_norm", "reward"):  # the cross-hairs of all charts move together
            card = f'.pinned[data-metric="{name}"]'
            close_to(self, self.texts(f"{card} .value")[0], self.metrics[1][name])
            self.assertEqual(self.texts(f"{card} .at"), ["step 2"])
        self.assertIn("step 2", self.one("#announcer").get_property("textContent"))

    def test_tokens_show_their_log_probabilities(self):
        row = next(row for row in self.completions if "\ufffd" not in row["completion"])
        self.open(f"group?run=0&step={row['step']}&prompt={quote(row['prompt_id'])}")
        text = self.one(f'[data-sample="{row["sample"]}"] .tokens')
        self.assertEqual(len(text.find_elements(By.CSS_SELECTOR, ".token")), len(row["completion_ids"]))
        shown = text.get_property("textContent").replace("⏎", "").removesuffix("<|endoftext|>")
        self.assertEqual(shown, row["completion"])
        text.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        readout = self.one(f'[data-sample="{row["sample"]}"] .readout').text
        self.assertIn(f"token 2 of {len(row['completion_ids'])}", readout)
        close_to(self, readout.split("log-probability ")[1].split(" ")[0], row["logprobs"][1], digits=3)
        self.keys("c")
        self.assertIn("color=advantage", self.hash())

    def colors(self):
        return self.js("return [...document.querySelector('.bar select').options].map((one) => one.value)")

    def test_a_replay_adds_entropies_ratios_and_gradients(self):
        command = [COHORT, "view", *self.runs]
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait, 20)
        self.addCleanup(program.terminate)
        program.address = program.stdout.readline().strip().rstrip("/")
        row = next(row for row in self.completions if row["step"] == 3 and row["advantage"])
        group = [one for one in self.completions if (one["step"], one["prompt_id"]) == (3, row["prompt_id"])]
        place = f"step=3&prompt={quote(row['prompt_id'])}"
        self.open(f"group?run=0&{place}", program)
        self.assertEqual(self.colors(), ["logprob", "advantage", "none"])
        self.one("#replay").click()
        self.wait(lambda: len(self.colors()) == 6, "no colors of the replay")
        self.assertEqual(self.colors(), ["logprob", "advantage", "entropy", "ratio", "gradient", "none"])
        self.assertFalse(self.all("#replay"))
        self.keys("cccc")
        self.assertIn("color=gradient", self.hash())
        self.screenshot("replayed")
        self.check_accessibility("a replayed group")
        number = sum(one["step"] == 3 for one in self.completions[: self.completions.index(row)])
        replay = [COHORT, "replay", self.runs[0], "--step", "3", "--json", "--group", str(number // len(group)),
                  "--sample", str(row["sample"])]  # fmt: skip
        *tokens, whole = map(
            json.loads,
            subprocess.run(replay, capture_output=True, check=True, env=ENVIRONMENT).stdout.splitlines(),
        )
        card = f'[data-sample="{row["sample"]}"]'
        share = self.texts(f"{card} .gradient b")[0].removesuffix(" %")
        close_to(self, share, 100 * whole["gradient_share"], digits=3)
        self.one(f"{card} .tokens").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        readout = self.one(f"{card} .readout").text
        close_to(self, readout.split(", entropy ")[1].split(",")[0], tokens[1]["entropy"], digits=3)
        gradient = readout.split("share of gradient ")[1].split(" %")[0]
        close_to(self, gradient, 100 * tokens[1]["gradient"], digits=3)
        self.assertIn(", ratio ", readout)
        self.open(
            f"group?run=1&{self.place_of_run(1, 1)}", program
        )  # its only checkpoint is the one after the last step
        self.one("#replay").click()
        self.wait(lambda: len(self.colors()) == 5, "no colors of the replay")
        self.assertIn("checkpoints/step-00000001 is missing", self.one("#ratio-note").text)
        self.open(f"group?run=1&{self.place_of_run(1, 2)}", program)
        self.assertIn("step-00000001 is missing", self.texts("#replay + .note")[0])
        self.assertFalse(self.one("#replay").is_enabled())
        self.screenshot("not-replayed")
        self.check_accessibility("a group that cannot be replayed")
        self.open(f"group?run=1&{self.place_of_run(1, 2)}")
        self.assertEqual(self.texts("#replay + .note"), ["this server has no model to replay with"])

    def place_of_run(self, run, step):
        rows = read_lines(self.runs[run] / "completions.jsonl")
        prompt = next(row["prompt_id"] for row in rows if row["step"] == step)
        return f"step={step}&prompt={quote(prompt)}"

    def test_compare_names_the_seed_as_a_difference(self):
        self.open("compare?run=0&b=1")
        self.assertIn(["seed", "1", "2"], self.table_rows("Settings that differ"))
        ends = {row[0]: row[1] for row in self.table_rows("Metrics at the end")}
        mean = statistics.mean(
            line["reward"] for line in self.metrics[-4:]
        )  # a tenth of the steps, four at least
        close_to(self, ends["reward"].split(" ±")[0], mean)


if __name__ == "__main__":
    unittest.main()
