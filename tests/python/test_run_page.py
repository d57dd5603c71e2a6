"""tools/run_page.py: the commands of a page run in one shell, and the first that fails ends the run.

python3 tests/python/test_run_page.py
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import run_page  # noqa: E402

PAGE = """# A page

```sh
word=first
```

```
exit 3
```

```sh
echo $word > {out}
{more}
echo last >> {out}
```
"""


class RunPageTest(unittest.TestCase):
    def run_page(self, more):
        with tempfile.TemporaryDirectory() as folder:
            out, page = pathlib.Path(folder) / "out", pathlib.Path(folder) / "page.md"
            page.write_text(PAGE.format(out=out, more=more))
            command = [sys.executable, str(ROOT / "tools/run_page.py"), str(page)]
            done = subprocess.run(command, capture_output=True, text=True)
            return done.returncode, out.read_text().split(), done.stderr

    def test_blocks_share_a_shell_in_the_root_of_the_repository(self):
        code, words, shown = self.run_page("test -f tools/run_page.py")
        self.assertEqual((code, words), (0, ["first", "last"]))
        self.assertIn(" s: echo last", shown)

    def test_a_failure_ends_the_run(self):
        for more in ("exit 7", "false | cat", "echo $unset_name"):
            code, words, _ = self.run_page(more)
            self.assertNotEqual(code, 0, more)
            self.assertEqual(words, ["first"], more)

    def test_the_pages_of_the_documentation_are_well_formed(self):
        pages = {page.name: run_page.commands(page.read_text()) for page in ROOT.glob("docs/tutorials/*.md")}
        self.assertIn("build/cohort train", pages["smollm2.md"])
        for name, script in pages.items():
            self.assertEqual(subprocess.run(["bash", "-n", "-c", script]).returncode, 0, name)


if __name__ == "__main__":
    unittest.main()
