"""What tests of the page share: the server, a headless Chromium, axe, and figures that Python computes from a run's files."""

import importlib.util
import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

ROOT = Path(__file__).resolve().parents[2]
SERVER = Path(os.environ.get("VIEW_SERVER", ROOT / "build/view_server"))
SCREENSHOTS = Path(os.environ.get("VIEW_SCREENSHOTS", ROOT / "build/view-screenshots"))
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
WIDE, PHONE = (1400, 900), (390, 844)


def axe_script():
    package = importlib.util.find_spec("axe_playwright_python")  # only its file is read
    return (Path(package.submodule_search_locations[0]) / "axe.min.js").read_text()


class Server:
    """view_server over some runs; it ends with its input."""

    def __init__(self, *runs):
        command = [SERVER, "0", *runs]
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip().rstrip("/")
        if not self.address:
            raise RuntimeError(f"{SERVER} did not start")

    def close(self):
        self.process.communicate(timeout=20)


def make_driver():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


class PageCase(unittest.TestCase):
    """A browser for all tests of a class. Each test must leave its console without a warning."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.folder = Path(cls.place.name)
        cls.driver = make_driver()
        cls.addClassCleanup(cls.driver.quit)
        cls.axe = axe_script()
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def setUp(self):
        self.resize(WIDE)

    def tearDown(self):
        self.check_console()
        self.driver.get("about:blank")  # the server may go

    def check_console(self):
        wrong = [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual(wrong, [])

    def resize(self, size):
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": size[0] < 600})

    def prefer(self, scheme):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, place, server=None):
        """Loads the page anew at a place such as "curves?run=0"."""
        self.driver.get("about:blank")
        self.driver.get(f"{(server or self.server).address}/#/{place}")
        self.settle()

    def settle(self):
        """Waits until the view has drawn what it asked for."""
        idle = "return document.querySelector('main')?.getAttribute('aria-busy') === 'false'"
        self.wait(lambda: self.js(idle), "the view did not finish")

    def wait(self, condition, problem, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.05)
        self.fail(f"{problem}: {self.driver.current_url}")

    def js(self, script, *values):
        return self.driver.execute_script(script, *values)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.wait(lambda: self.all(selector), f"no element {selector}")[0]

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
        return self.js(script, selector)

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self, what="tagName"):
        return self.js("return document.activeElement[arguments[0]]", what)

    def hash(self):
        return self.js("return location.hash")

    def fill(self, selector, text):
        control = self.one(selector)
        control.send_keys(Keys.CONTROL, "a")
        control.send_keys(Keys.DELETE, text)

    def screenshot(self, name):
        drawn = """return [...document.querySelectorAll('.card')].every((card) => {
            const {top, bottom} = card.getBoundingClientRect();
            return bottom < 0 || top > innerHeight || card.querySelector('.values').textContent !== '';
        });"""
        self.wait(lambda: self.js(drawn), "a chart that is in view has no values")
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    def check_accessibility(self, name):
        self.js(self.axe)
        script = """const done = arguments[1];
            axe.run(document, {runOnly: {type: 'tag', values: arguments[0]}, resultTypes: ['violations']})
              .then((found) => done(found.violations.map((one) => [one.id, one.nodes.map((node) => [node.html, node.failureSummary])])));"""
        self.driver.set_script_timeout(60)
        self.assertEqual(self.driver.execute_async_script(script, AXE_RULES), [], name)

    def foreign_requests(self):
        """The addresses that the browser asked for and that are not this machine's."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [
            url
            for url in urls
            if not url.startswith(("http://127.0.0.1:", "about:", "chrome:", "data:text/html"))
        ]


def read_lines(path):
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def shown_number(text):
    """The value of a number as the page writes it."""
    return float(text.replace("\u202f", "").replace("−", "-").replace(",", "").strip())


def close_to(test, shown, value, digits=4):
    """The page rounds to so many significant digits."""
    test.assertLessEqual(
        abs(shown_number(shown) - value), 0.51 * 10.0 ** (1 - digits) * max(abs(value), 1e-12), (shown, value)
    )
