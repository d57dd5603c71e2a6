"""Random small templates through Cohort's engine and through Jinja2: the same text, or a refusal of both.

JINJA_LINES=build/jinja_lines python tests/python/fuzz_templates.py [COUNT] [SEED]

Not compared: what Python prints with an address, integers of more than 4,300 digits, and what the engine says it does not
support.
"""

import collections
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import warnings

import jinja_reference

PROGRAM = pathlib.Path(os.environ["JINJA_LINES"]).resolve()


def items_of(text):
    return [item.strip() for item in text.replace("\n", " ").split(";")]


NAMES = items_of("""
a; b; n; s; t; items; table; nothing; yes; real; messages; missing; x; ns
""")
ATTRIBUTES = items_of("""
role; content; k; x; items; upper; get; missing; count; __class__; update
""")
TEXTS = [
    "",
    "a",
    "ab",
    "<b>",
    " x ",
    "é",
    "日本",
    "😀",
    "A,b,,c",
    "'q'",
    '"',
    "%s",
    "line\nline",
    "\t",
    "0",
    "12",
    "ß",
    "ΑΣ",
]
FILTERS = items_of("""
trim; upper; lower; length; string; tojson; list; first; last; join; capitalize; title; int; float; abs;
reverse; sort; items; safe; e; escape; default('d'); default('d', true); d; join('-'); replace('a', 'bb');
replace('', '.', 2); dictsort; dictsort(true); dictsort(by='value'); map('upper'); map(attribute='role');
map('length'); map(attribute='k', default=0); select; reject; select('string'); selectattr('role');
selectattr('role', 'equalto', 'user'); rejectattr('role', 'eq', 'user'); unique; sum; min; max; round;
round(1); tojson(indent=2); tojson(sort_keys=true); tojson(ensure_ascii=true);
tojson(separators=(',', ':')); indent; indent(2, true); truncate(5); truncate(7, true); batch(2); slice(2);
center(9); trim('a'); count; attr('upper'); attr('k'); sort(reverse=true); sort(attribute='role'); format(1)
""")
TESTS = items_of("""
defined; undefined; none; string; mapping; sequence; iterable; number; integer; float; boolean; true; false;
odd; even; divisibleby(2); divisibleby 3; lower; upper; in items; eq 1; equalto 'a'; gt 0; callable;
escaped; sameas none; ne 'a'; lt 2; filter; test
""")
METHODS = items_of("""
upper(); lower(); strip(); lstrip('a'); rstrip(); split(); split(','); split('a', 1); rsplit(',', 1);
startswith('a'); endswith(('a', 'b')); replace('a', 'x'); find('b'); count('a'); title(); get('k');
get('zz', 7); items(); keys(); values(); isdigit(); islower(); join(['p', 'q']); capitalize(); splitlines();
partition(','); rpartition(','); index('a'); format(1, k=2); zfill(4); center(6); removeprefix('a');
append(1); pop(); copy(); isspace(); isupper(); swapcase(); casefold(); ljust(4); rfind('a'); isalpha();
isalnum()
""")
TEXT_METHODS = [
    m
    for m in METHODS
    if m.split("(")[0] not in ("get", "items", "keys", "values", "append", "pop", "copy", "index")
]
TEXT_FILTERS = items_of("""
trim; upper; lower; capitalize; title; replace('a', 'bb'); replace('', '.'); default('d', true); indent;
truncate(7, true); center(9); trim('a'); safe; e; escape; forceescape; reverse; string; first; last
""")
LIST_FILTERS = items_of("""
reverse; map('string'); map('string')|map('upper'); select; reject; select('string'); unique; batch(2);
slice(2); map(attribute='role'); selectattr('role', 'defined'); rejectattr('role', 'undefined');
map('length'); map(attribute='k', default=0); selectattr('k'); sort; reject('none'); batch(3, 0);
map('tojson'); select('number')
""")
SAFE_TESTS = items_of("""
defined; undefined; none; string; mapping; sequence; iterable; number; integer; float; boolean; true; false;
lower; upper; in items; eq 1; callable; escaped; sameas none; ne 'a'
""")
VARIABLES = {
    "m": {"role": "tool"},
    "a": 3,
    "b": -7,
    "n": 0,
    "s": "abc",
    "t": "日本 é ",
    "items": [1, "two", 3.5, None, True],
    "table": {"k": "v", "items": 2, "Z": [1, 2], "b": {"c": "d"}, "n": None},
    "nothing": None,
    "yes": True,
    "real": 2.5,
    "messages": [
        {"role": "user", "content": "hé"},
        {"role": "assistant", "content": "<x>", "k": 1},
        {"role": "user", "content": ""},
    ],
}


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def pick(self, items):
        return self.rng.choice(items)

    def literal(self):
        kind = self.rng.randrange(9)
        if kind < 3:
            return json.dumps(self.pick(TEXTS), ensure_ascii=False).replace("\\/", "/")
        if kind < 5:
            return str(self.pick([0, 1, 2, 3, 10, 255]))
        return self.pick(["1.5", "true", "false", "none", "[]", "{}", "()", "0.1", "1e20", "2.0"])

    def typed(self, kind, depth=0):
        """An expression that mostly has the wanted type, so that templates get further than their first error."""
        if self.rng.random() < 0.07:
            return self.expression(depth + 1)
        deep = depth < 3 and self.rng.random() < 0.6
        sub = lambda wanted: self.typed(wanted, depth + 1)
        if kind == "text":
            if not deep:
                return (
                    self.pick(["s", "t", "m.role", "table.k", "table.k", "missing"])
                    if self.rng.random() < 0.5
                    else self.text_literal()
                )
            return self.pick([
                lambda: f"({sub('text')}).{self.pick(TEXT_METHODS)}", lambda: f"({sub('text')}|{self.pick(TEXT_FILTERS)})",
                lambda: f"({sub('text')} ~ {sub('any')})", lambda: f"({sub('text')} + {sub('text')})",
                lambda: f"({sub('text')})[{self.bound()}:{self.bound()}]", lambda: f"({sub('text')} * {self.pick([0, 1, 2])})",
                lambda: f"({sub('list')}|join({self.text_literal()}))", lambda: f"({sub('any')}|string)", lambda: f"({sub('any')}|tojson)",
                lambda: f"({sub('text')} if {sub('any')} else {sub('text')})", lambda: f"({sub('text')})[{self.pick([0, 1, -1, 9])}]",
            ])()  # fmt: skip
        if kind == "number":
            if not deep:
                return self.pick(["a", "b", "n", "real", "yes", "1", "2.5", "0", "3", "10"])
            return self.pick([
                lambda: f"({sub('number')} {self.pick(['+', '-', '*', '//', '%', '/'])} {sub('number')})", lambda: f"({sub('list')}|length)",
                lambda: f"({sub('text')}|length)", lambda: f"({sub('number')}|{self.pick(['abs', 'int', 'float', 'round', 'round(1)'])})",
                lambda: f"-({sub('number')})", lambda: f"({sub('text')}|int)", lambda: f"({sub('text')}.count({self.text_literal()}))",
            ])()  # fmt: skip
        if kind == "list":
            if not deep:
                return self.pick(
                    [
                        "items",
                        "messages",
                        "[]",
                        "range(4)",
                        "[3, 1, 2]",
                        "['b', 'A', 'c']",
                        "table",
                        "s",
                        "(1, 'x')",
                    ]
                )
            return self.pick([
                lambda: f"({sub('list')}|{self.pick(LIST_FILTERS)}|list)", lambda: f"(({sub('list')})|list)[{self.bound()}:{self.bound()}{self.pick(['', ':2', ':-1'])}]",
                lambda: f"[{sub('any')}, {sub('any')}]", lambda: f"({sub('text')}).split({self.pick(['', self.text_literal()])})",
                lambda: f"(({sub('list')})|list + [{sub('any')}])", lambda: f"(table.{self.pick(['items', 'keys', 'values'])}()|list)",
            ])()  # fmt: skip
        if kind == "truth":
            return self.pick([
                lambda: f"({sub('number')} {self.pick(['==', '!=', '<', '>', '<=', '>='])} {sub('number')})", lambda: f"({sub('text')} in {sub('text')})",
                lambda: f"({sub('any')} in {sub('list')})", lambda: f"({sub('any')} is {self.pick(['', 'not '])}{self.pick(SAFE_TESTS)})",
                lambda: f"(not {sub('any')})", lambda: f"({sub('any')} {self.pick(['and', 'or'])} {sub('any')})", lambda: f"({sub('text')} {self.pick(['==', '<'])} {sub('text')})",
            ])()  # fmt: skip
        if self.rng.random() < 0.1:
            return "{" + ", ".join(f"{self.key()}: {sub('any')}" for _ in range(2)) + "}"
        return self.typed(self.pick(["text", "text", "number", "list", "truth"]), depth + 1)

    def key(self):
        """Jinja2 refuses unhashable keys of literals even where they are never evaluated."""
        return self.pick(["1", "'a'", "'é'", "true", "1.0", "none", "(1, 2)", "s"])

    def bound(self):
        return self.pick(["", "", "0", "1", "-1", "2", "-2", "7"])

    def text_literal(self):
        return json.dumps(self.pick(TEXTS), ensure_ascii=False)

    def expression(self, depth=0):
        if depth > 3 or self.rng.random() < 0.2:
            return self.pick(NAMES) if self.rng.random() < 0.65 else self.literal()
        sub = lambda: self.expression(depth + 1)
        kind = self.rng.randrange(19)
        if kind == 0:
            return f"({sub()} {self.pick(['+', '-', '*', '/', '//', '%', '~', '**'])} {sub()})"
        if kind == 1:
            return f"({sub()} {self.pick(['==', '!=', '<', '>', '<=', '>=', 'in', 'not in'])} {sub()})"
        if kind == 2:
            return f"({sub()} {self.pick(['and', 'or'])} {sub()})"
        if kind == 3:
            return f"(not {sub()})"
        if kind == 4:
            return (
                f"({sub()} if {sub()} else {sub()})" if self.rng.random() < 0.8 else f"({sub()} if {sub()})"
            )
        if kind == 5:
            return f"{self.postfix(depth)}[{sub()}]"
        if kind == 6:
            part = lambda: self.pick(["", "", "0", "1", "-1", "2", "-2", "5", sub()])
            step = self.pick(["", "", ":", ":2", ":-1", ":0"])
            return f"{self.postfix(depth)}[{part()}:{part()}{step}]"
        if kind == 7:
            return f"{self.postfix(depth)}.{self.pick(ATTRIBUTES)}"
        if kind in (8, 9):
            return f"{self.postfix(depth)}.{self.pick(METHODS)}"
        if kind in (10, 11, 12):
            return f"{self.postfix(depth)}|{self.pick(FILTERS)}"
        if kind == 13:
            return f"({self.postfix(depth)} is {self.pick(['', 'not '])}{self.pick(TESTS)})"
        if kind == 14:
            return "[" + ", ".join(sub() for _ in range(self.rng.randrange(4))) + "]"
        if kind == 15:
            return "{" + ", ".join(f"{self.key()}: {sub()}" for _ in range(self.rng.randrange(3))) + "}"
        if kind == 16:
            return f"({sub()}, {sub()})"
        if kind == 17:
            return f"{self.pick(['-', '+'])}{self.postfix(depth)}"
        return f"range({self.pick(['3', '1, 4', '5, 0, -2', sub()])})"

    def postfix(self, depth):
        return f"({self.expression(depth + 1)})" if self.rng.random() < 0.4 else self.pick(NAMES)

    def tag(self, inside):
        left = self.pick(["{%", "{%", "{%-", "{%+"])
        right = self.pick(["%}", "%}", "-%}", "+%}"])
        return f"{left} {inside} {right}"

    def text(self):
        return self.pick(
            [
                "",
                " ",
                "\n",
                "  \n",
                "x",
                "\n  ",
                "é\n",
                " y ",
                "{# c #}",
                "{#- c -#}\n",
                "\n{# c #}\n",
                "{ ",
                "}}",
            ]
        )

    def block(self, depth, loop=False):
        return "".join(
            self.statement(depth, loop) for _ in range(self.rng.randrange(1, 4 if depth == 0 else 3))
        )

    def statement(self, depth, loop):
        kind = self.rng.randrange(16) if depth < 2 else self.rng.randrange(4)
        tag, e = self.tag, lambda: self.typed(self.pick(["any", "any", "any", "truth", "list"]))
        if kind < 2 or (kind == 2 and self.rng.random() < 0.5):
            return self.text() + self.pick(["{{ %s }}", "{{- %s -}}", "{{ %s -}}"]) % self.typed("any")
        if kind == 2:
            return self.text()
        if kind == 3:
            return tag(f"set {self.pick(['x', 's', 'a', 'loopvar'])} = {e()}")
        body = lambda inner=loop: self.block(depth + 1, inner)
        if kind in (4, 5):
            text = tag(f"if {e()}") + body()
            if self.rng.random() < 0.3:
                text += tag(f"elif {e()}") + body()
            if self.rng.random() < 0.4:
                text += tag("else") + body()
            return text + tag("endif")
        if kind in (6, 7, 8):
            target = self.pick(["x", "x", "m", "k, v"])
            source = self.pick(["items", "messages", "range(3)", "table", "s", self.typed("list")])
            if target == "k, v":
                source = self.pick(["table.items()", "[[1, 2], 'ab']", "table|dictsort", "table|items"])
            condition = self.pick(["", "", "", f" if {e()}", " if loop is defined", " if x"])
            inner = self.block(depth + 1, True)
            if self.rng.random() < 0.5:
                inner += (
                    "{{ loop."
                    + self.pick(
                        [
                            "index",
                            "index0",
                            "first",
                            "last",
                            "length",
                            "revindex",
                            "previtem",
                            "nextitem",
                            "depth",
                            "cycle('p', 'q')",
                            "changed(x)",
                        ]
                    )
                    + " }}"
                )
            text = tag(f"for {target} in {source}{condition}") + inner
            if self.rng.random() < 0.3:
                text += tag("else") + body()
            return text + tag("endfor")
        if kind == 9:
            return (
                tag("set ns = namespace(x=0, k='v')")
                + body()
                + tag(f"set ns.{self.pick(['x', 'k', '_x', 'new'])} = {e()}")
                + "{{ ns.x }}"
            )
        if kind == 10:
            return (
                tag(f"set {self.pick(['x', 's'])}{self.pick(['', ' | upper', ' | trim | length'])}")
                + body()
                + tag("endset")
                + "{{ x }}"
            )
        if kind == 11:
            name = self.pick(["f", "g"])
            signature = self.pick(["", "x", "x, y=1", "x, y=x", "x=s, y=none"])
            special = self.pick(["", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller }}", "{{ x }}{{ y }}"])
            text = tag(f"macro {name}({signature})") + self.block(depth + 1) + special + tag("endmacro")
            arguments = (
                self.pick(["", "1", "1, 2", "y=3", "x=1", e()])
                if signature
                else self.pick(["", "", "", "1", "*items", "**table"])
            )
            if self.rng.random() < 0.25:
                return text + tag(f"call {name}({arguments})") + self.block(depth + 1) + tag("endcall")
            return text + "{{ %s(%s) }}" % (name, arguments)
        if kind == 12:
            return self.tag("generation") + self.block(depth + 1) + self.tag("endgeneration")
        if kind == 13 and loop:
            return tag(f"if {e()}") + tag(self.pick(["break", "continue"])) + tag("endif")
        if kind == 14:
            return tag(f"with x = {e()}") + body() + tag("endwith")
        return (
            tag("filter " + self.pick(["upper", "trim", "length", "replace('a', 'b')"]))
            + self.block(depth + 1)
            + tag("endfilter")
        )


def ours(templates):
    lines = "".join(json.dumps({"template": t, "variables": VARIABLES}) + "\n" for t in templates)
    result = subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, encoding="utf-8")
    if result.returncode != 0:
        raise SystemExit(f"jinja_lines failed with {result.returncode}: {result.stderr}")
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]]


def is_excused(template, mine, reference):
    if re.search(r"\((\d[\d.e+]*|true|false|none)\)\[", template):
        return True  # Slices of literals are constants to Jinja2, which makes undefined values of some.
    if " at 0x" in reference.get("text", "").lower():
        return True
    error = mine.get("error", "")
    return "not supported" in error or "has no text of its own" in error or "takes more than" in error


def compare(count, seed):
    maker = Maker(random.Random(seed))
    templates = [maker.block(0) for _ in range(count)]
    outcome = collections.Counter()
    shown = 0
    for template, mine in zip(templates, ours(templates), strict=True):
        # Jinja2's indent changes lists.
        reference = jinja_reference.render(template, copy.deepcopy(VARIABLES))
        if "error" in mine and "error" in reference:
            outcome["both refuse"] += 1
        elif mine == reference:
            outcome["same text"] += 1
        elif is_excused(template, mine, reference):
            outcome["excused"] += 1
        else:
            outcome["different"] += 1
            shown += 1
            if shown <= 15:
                print(
                    json.dumps({"template": template, "ours": mine, "jinja2": reference}, ensure_ascii=False)
                )
    return outcome


def main():
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    outcome = compare(count, seed)
    print(f"{count} templates, seed {seed}: {dict(outcome)}")
    sys.exit(outcome["different"] > 0)


if __name__ == "__main__":
    main()
