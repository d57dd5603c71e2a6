"""The Python package as others install it: sdist, wheel, repaired wheel, and an environment without a compiler.

python3 tests/python/test_wheel.py      # after `make build`; minutes, less with what ccache has
"""

import json
import pathlib
import re
import subprocess
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = (ROOT / "build/torch-python").read_text().strip()
TOOLS = ROOT / ".venv-wheel/bin"
SDIST = {
    "CMakeLists.txt",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "apps",
    "cmake",
    "cohort",
    "docs",
    "libs",
    "pyproject.toml",
}
SDIST |= {"python", "recipes", "tools"}
PROGRAM = {"cohort", "cohort-sandboxd", "cohort_environment.py", "cohort_reward.py", "tool_schema.py"}
RECIPE = """
[model]
path = "start"
[data]
path = "train.jsonl"
[rollout]
prompts_per_step = 4
num_generations = 4
max_completion_length = 8
[[reward]]
name = "length"
type = "python"
function = "reward.py:length"
[train]
max_steps = 2
"""
REWARD = """
import sys
def length(completions, **columns):
    print("run by", sys.prefix, file=sys.stderr)
    return [-len(text) / 8 for text in completions]
"""
IMPORT = """
import sys, time
start = time.perf_counter()
import cohort
print(time.perf_counter() - start, *({"torch", "transformers", "numpy", "datasets"} & set(sys.modules)))
"""
CODE = {"prompt": "Double it.", "completion": "```python\ndef f(n):\n    return 2 * n\n```"}
CODE |= {"tests": ["assert f(2) == 4", "assert f(3) == 6"]}


def run(*command, check=True, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if check and result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}: {result.stderr}")
    return result


class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        made = run(ROOT / "tools/make_wheel.sh", PYTHON, cls.folder / "dist", check=False)
        print(made.stdout, made.stderr, sep="")
        assert made.returncode == 0
        [cls.sdist] = (cls.folder / "dist").glob("*.tar.gz")
        [cls.wheel] = (cls.folder / "dist").glob("*.whl")
        folder, cls.torch = run(PYTHON, ROOT / "tools/find_torch.py").stdout.splitlines()[:2]
        cls.torch_folder = pathlib.Path(folder)
        cls.torch = cls.torch.split("+")[0]
        cls.venv = cls.folder / "venv"
        run(PYTHON, "-m", "venv", cls.venv)
        [cls.packages] = cls.venv.glob("lib/python3*/site-packages")
        cls.lend_torch_dependencies()

    @classmethod
    def lend_torch_dependencies(cls):
        """As a link beside the package, where pip would install it; a second torch would take a minute and 1 GB."""
        around = cls.torch_folder.parent
        for path in [cls.torch_folder, *around.glob("torch-*.dist-info")]:
            (cls.packages / path.name).symlink_to(path)
        (cls.packages / "around_torch.pth").write_text(f"{around}\n")

    def inside(self, *command, **options):
        """In the new environment, with nothing else in PATH."""
        environment = {"PATH": str(self.venv / "bin"), "HOME": str(self.folder), "OMP_NUM_THREADS": "1"}
        environment |= options.pop("env", {})
        command = [self.venv / "bin" / command[0], *command[1:]]
        return run(*command, **{"env": environment, "cwd": self.folder, **options})

    def test_the_files(self):
        with tarfile.open(self.sdist) as sdist:
            names = [pathlib.PurePath(name) for name in sdist.getnames()]
        self.assertEqual({name.parts[1] for name in names}, SDIST)
        self.assertEqual({name.suffix for name in names} & {".pyc", ".so", ".o", ".whl"}, set())
        self.assertLess(self.sdist.stat().st_size, 2 << 20)

        tags = rf"\+torch{re.escape(self.torch)}-(cp\d+)-\1-manylinux_2_\d+_x86_64\.whl$"
        self.assertRegex(self.wheel.name, "^cohort-[\\d.]+" + tags)
        with zipfile.ZipFile(self.wheel) as wheel:
            names = [pathlib.PurePath(name) for name in wheel.namelist()]
            [metadata] = [name for name in names if name.match("*.dist-info/METADATA")]
            lines = wheel.read(str(metadata)).decode().splitlines()
        self.assertIn(f"Requires-Dist: torch=={self.torch}", lines)
        self.assertIn("Requires-Python: >=3.10", lines)
        self.assertEqual({name.name for name in names if name.match("cohort/bin/*")}, PROGRAM)
        carried = {re.split(r"[-.]", name.name)[0] for name in names if name.parts[0] == "cohort.libs"}
        self.assertEqual(
            {name for name in carried if name.startswith(("libtorch", "libc10", "libgomp"))}, set()
        )
        self.assertLessEqual({"libcurl", "libflint", "libpcre2", "libseccomp"}, carried)

    def test_it_installs_and_works_without_a_compiler(self):
        self.inside("python", "-m", "pip", "install", "--no-index", "--no-deps", self.wheel)
        for part in [self.packages / "cohort/bin/cohort", *self.packages.glob("cohort/_cohort.*.so")]:
            paths = run(TOOLS / "patchelf", "--print-rpath", part).stdout.strip().split(":")
            self.assertEqual([path for path in paths if not path.startswith("$ORIGIN/..")], [], part)
        seconds, *modules = self.inside("python", "-c", IMPORT).stdout.split()
        self.assertEqual(modules, [])
        self.assertLess(float(seconds), 1)
        self.assertRegex(
            self.inside("cohort", "--version").stdout, rf"^cohort [\d.]+, with torch {self.torch}"
        )

        self.train()
        self.run_code_in_the_sandbox()
        self.own_loop()
        self.torch_elsewhere()
        self.another_torch()

    def train(self):
        self.inside("cohort", "get", "recipes")
        again = self.inside("cohort", "get", "recipes", check=False)
        line = "cohort: recipes exists; name a directory to make\n"
        self.assertEqual((again.returncode, again.stderr), (2, line))
        tokenizer = ["--tokenizer", "recipes/demo"]
        self.inside("cohort", "init", "--config", "recipes/demo/config.json", *tokenizer, "--output", "start")
        self.inside("cohort", "data", "countdown", "--count", 40, "--output", "train.jsonl")
        (self.folder / "recipe.toml").write_text(RECIPE)
        (self.folder / "reward.py").write_text(REWARD)
        result = self.inside("cohort", "train", "recipe.toml", "--run-dir", "run")
        # Reward functions run with the environment's Python.
        self.assertIn(f"run by {self.venv}", result.stderr + result.stdout)
        rows = [json.loads(line) for line in (self.folder / "run/metrics.jsonl").read_text().splitlines()]
        self.assertEqual([row["step"] for row in rows], [1, 2])
        self.assertLess(rows[0]["reward"], 0)

    def run_code_in_the_sandbox(self):
        (self.folder / "code.jsonl").write_text(json.dumps(CODE) + "\n")
        self.inside(
            "cohort", "verify", "--reward", "code", "--input", "code.jsonl", "--output", "verdicts.jsonl"
        )
        verdict = json.loads((self.folder / "verdicts.jsonl").read_text())
        self.assertEqual(verdict["score"], 1.0, verdict)

    def own_loop(self):
        """The page's example: extension and program agree to the last digit."""
        program = {"COHORT": str(self.venv / "bin/cohort")}
        test = ROOT / "tests/python/test_own_loop.py"
        self.inside("python", test, "OwnLoopTest.test_the_loop", env=program)

    def torch_elsewhere(self):
        """A torch that is not beside the package, as with --user or --target."""
        (self.packages / "torch").unlink()
        self.assertRegex(self.inside("cohort", "--version").stdout, rf"with torch {self.torch}")
        self.inside("python", "-c", "import cohort.engine")

    def another_torch(self):
        stand_in = self.folder / "other/torch"
        stand_in.mkdir(parents=True)
        (stand_in / "__init__.py").touch()
        (stand_in / "version.py").write_text("__version__ = '2.12.1'\n")
        other = {"PYTHONPATH": str(stand_in.parent)}
        result = self.inside("cohort", "--version", env=other, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(
            result.stderr, rf"^cohort was built against torch {self.torch}, 2\.12\.1 is installed: .*\n$"
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)
