"""tools/unity_groups.py: files that declare the same name are never compiled together, and all others are grouped.

python3 tests/python/test_unity_groups.py
"""

import importlib
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
unity_groups = importlib.import_module("unity_groups")


class UnityGroupsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = (self.folder / name).resolve()
        path.write_text(text)
        return path

    def local(self, name, declaration):
        return self.write(
            name, f"namespace cohort {{\nnamespace {{\n\n{declaration}\n\n}}  // namespace\n}}\n"
        )

    def are_together(self, *paths):
        return len(unity_groups.group(list(paths), 16)) == 1

    def test_the_same_local_name_of_any_kind_separates(self):
        declarations = [
            "int join(int a) { return a; }",
            "constexpr int join = 3;",
            "struct join {\n  int a;\n};",
            "enum class join { kA };",
            "using join = int;",
            "const std::map<int, int> join{{1, 2}};",
            "template <typename T> T join(T a) { return a; }",
        ]
        other = self.local("other.cpp", "std::string join(std::string a) { return a; }")
        for number, declaration in enumerate(declarations):
            file = self.local(f"{number}.cpp", declaration)
            self.assertFalse(self.are_together(file, other), declaration)
            self.assertTrue(
                self.are_together(file, self.local(f"else{number}.cpp", "int split() { return 1; }"))
            )

    def test_a_name_in_a_header_of_the_other_file_separates(self):
        self.write("names.h", "namespace cohort {\nint join(int a, int b);\n}\n")
        self.write("more.h", '#include "names.h"\n')
        user = self.write(
            "user.cpp", '#include "more.h"\nnamespace cohort {\nint f() { return join(1, 2); }\n}\n'
        )
        self.assertFalse(self.are_together(user, self.local("a.cpp", "int join(int a) { return a; }")))

    def test_macros_separate_unless_they_are_undefined(self):
        one = self.write("one.cpp", "#define LIST 1\n")
        self.assertFalse(self.are_together(one, self.write("two.cpp", "#define LIST 2\n")))
        self.assertTrue(self.are_together(one, self.write("three.cpp", "#define LIST 3\n#undef LIST\n")))

    def test_an_alias_of_a_file_separates_without_an_anonymous_namespace(self):
        one = self.write("one.cpp", "namespace cohort {\nusing Clock = int;\n}\n")
        self.assertFalse(
            self.are_together(one, self.write("two.cpp", "namespace cohort {\nusing Clock = long;\n}\n"))
        )

    def test_groups_hold_every_file_once_and_at_most_so_many(self):
        files = [self.local(f"{i}.cpp", f"int f{i % 5}() {{ return 1; }}") for i in range(40)]
        groups = unity_groups.group(files, 6)
        self.assertEqual(sorted(file for members in groups for file in members), sorted(files))
        self.assertLessEqual(max(map(len, groups)), 6)
        for members in groups:
            self.assertFalse(any(unity_groups.clash(a, b) for a in members for b in members if a != b))


if __name__ == "__main__":
    unittest.main()
