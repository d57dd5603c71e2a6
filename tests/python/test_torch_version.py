"""A package that was built against another torch than the installed one says so in one line; so does a build without one.

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_torch_version.py
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from cohort import built_with

PACKAGE = pathlib.Path(built_with.__file__).parent.parent
TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
BUILT = built_with.TORCH.split("+")[0]
LAUNCHER = "import sys; from cohort.program import main; sys.exit(main())"
HIDE_TORCH = "import sys; sys.path = [p for p in sys.path if 'site-packages' not in p]; "


class TorchVersionTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def stand_in(self, version):
        """A torch of another version, which is found before the real one."""
        package = self.folder / "torch"
        package.mkdir()
        (package / "__init__.py").write_text("class Tensor: pass\n")
        (package / "version.py").write_text(f"__version__ = '{version}'\n")

    def python(self, script, **variables):
        environment = dict(os.environ, PYTHONPATH=f"{self.folder}:{PACKAGE}", **variables)
        return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)

    def assert_refused(self, reason):
        for part in ("engine", "objectives", "sampling_params"):
            result = self.python(f"import cohort.{part}")
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr.splitlines()[-1], f"ImportError: {reason}")
        result = self.python(LAUNCHER)
        self.assertEqual((result.returncode, result.stderr), (2, reason + "\n"))
        # What needs no torch works with any.
        self.assertEqual(self.python("import cohort; cohort.datasets; cohort.hub").returncode, 0)

    def test_another_torch(self):
        self.stand_in("2.12.1+cpu")
        self.assert_refused(
            f"cohort was built against torch {BUILT}, 2.12.1+cpu is installed: run `pip install torch=={BUILT}`, "
            "or build cohort against torch 2.12.1+cpu (docs/python/install.md)"
        )

    def test_another_patch_release(self):
        self.stand_in("2.13.99")
        self.assertIn("2.13.99 is installed", self.python("import cohort.engine").stderr)

    def test_another_variant_of_the_same_torch(self):
        self.stand_in(f"{BUILT}+other")
        self.assertEqual(
            self.python("from cohort import torch_version; print(torch_version.mismatch())").stdout, "None\n"
        )

    def test_no_torch(self):
        result = self.python(HIDE_TORCH + LAUNCHER)
        self.assertEqual(
            (result.returncode, result.stderr),
            (
                2,
                f"cohort was built against torch {BUILT}, none is installed: run `pip install torch=={BUILT}`\n",
            ),
        )

    def test_a_package_without_the_program(self):
        result = self.python(LAUNCHER)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(
            result.stderr, r"^cohort: \S+/bin/cohort is missing: this package was not installed by pip\n$"
        )

    def metadata(self, state, before="", **variables):
        script = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); from wheel_metadata import Provider; "
        script += f"one = Provider(); one.build_state({state!r}); print(one.dynamic_metadata({{}}, {{}}))"
        return self.python(before + script, **variables)

    def test_what_pip_is_told(self):
        self.stand_in("2.99.1+cpu")
        sources = eval(self.metadata("sdist").stdout)
        self.assertEqual(sources["dependencies"], ["torch>=2.11"])
        wheel = eval(self.metadata("wheel").stdout)
        self.assertEqual(wheel, {"version": sources["version"], "dependencies": ["torch==2.99.1"]})
        named = eval(self.metadata("wheel", COHORT_LOCAL_VERSION="1").stdout)
        self.assertEqual(named["version"], sources["version"] + "+torch2.99.1")

    def test_a_build_without_a_usable_torch(self):
        advice = "Run `pip install 'torch>=2.11'`, or leave out --no-build-isolation\n"
        begin = f"cohort is built against the torch of {sys.executable}: "
        result = self.metadata("wheel", HIDE_TORCH)
        self.assertEqual((result.returncode, result.stderr), (1, f"{begin}no torch package. {advice}"))
        self.stand_in("2.10.0")
        result = self.metadata("wheel")
        self.assertEqual(result.stderr, f"{begin}torch 2.10.0 is older than 2.11. {advice}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
