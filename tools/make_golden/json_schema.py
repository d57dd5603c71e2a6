"""Pairs of a schema and an instance, and what jsonschema says about them: tests/libs/json_schema/golden/json_schema.jsonl.

Needs jsonschema of tests/python/requirements.txt. The hand-written cases are checked against it as well; where it differs
from the specification on purpose of its own, json_schema_cases.py says so.
"""

import argparse
import itertools
import json
import pathlib
import random

from json_schema_cases import CASES, D7, D2020, DIFFERENCES
from jsonschema import Draft7Validator, Draft202012Validator

PATH = pathlib.Path(__file__).resolve().parents[2] / "tests/libs/json_schema/golden/json_schema.jsonl"

KEYS = ["a", "b", "c", "ab", "x1"]
SCALARS = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    -1,
    2,
    3,
    3.5,
    10,
    12,
    1e20,
    "",
    "a",
    "ab",
    "abc",
    "b1",
    "é",
    "\U0001f600\U0001f600",
]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
PATTERNS = ["^a", "b$", "^[a-b]+$", "1", "^.$", "^(a|é)*$", "x\\d"]


class Generator:
    """Random schemas of one dialect. A reference stands where it goes deeper into the instance, or at the top."""

    def __init__(self, rng, is_draft7):
        self.rng, self.is_draft7 = rng, is_draft7
        self.definitions = "definitions" if is_draft7 else "$defs"

    def value(self, depth):
        kind = self.rng.random()
        if depth > 0 and kind < 0.2:
            return [self.value(depth - 1) for _ in range(self.rng.randint(0, 4))]
        if depth > 0 and kind < 0.45:
            keys = self.rng.sample(KEYS, self.rng.randint(0, 4))
            return {key: self.value(depth - 1) for key in keys}
        return self.rng.choice(SCALARS)

    def document(self):
        names = ["A", "B"]
        schema = self.schema(3, names)
        if not isinstance(schema, dict):
            return schema
        if self.is_draft7:
            if "$ref" in schema:
                schema = {"allOf": [schema]}
            schema["$schema"] = D7
        elif self.rng.random() < 0.5:
            schema["$schema"] = D2020
            if self.rng.random() < 0.3:
                schema["$ref"] = f"#/$defs/{self.rng.choice(names)}"
        schema[self.definitions] = {name: self.schema(2, names) for name in names}
        return schema

    def child(self, depth, names):
        if names and self.rng.random() < 0.2:
            return {"$ref": f"#/{self.definitions}/{self.rng.choice(names)}"}
        return self.schema(depth - 1, names)

    def schema(self, depth, names):
        if self.rng.random() < 0.08:
            return self.rng.random() < 0.7
        schema = {}
        for _ in range(self.rng.randint(1, 3)):
            self.add(schema, depth, names)
        return schema

    def few(self, make, low=1, high=3):
        return [make() for _ in range(self.rng.randint(low, high))]

    def range(self, least, most, high):
        low = self.rng.randint(0, high)
        keys = self.rng.choice([(least,), (most,), (least, most)])
        return {key: low if key == least else low + self.rng.randint(0, 2) for key in keys}

    def add(self, schema, depth, names):
        """One group of keywords."""
        rng = self.rng
        shallow = [
            "type",
            "types",
            "enum",
            "const",
            "number",
            "multiple",
            "length",
            "pattern",
            "unique",
            "items_range",
        ]
        shallow += ["properties_range", "required", "dependent_keys"]
        deep = [
            "properties",
            "properties",
            "patterns",
            "additional",
            "names",
            "items",
            "items",
            "prefix",
            "contains",
        ]
        deep += ["all", "any", "one", "not", "if", "dependent_schemas"]
        deep += [] if self.is_draft7 else ["unevaluated_properties", "unevaluated_items"]
        kind = rng.choice(shallow if depth == 0 else shallow + deep)
        child = lambda: self.child(depth, names)  # noqa: E731
        here = lambda: self.schema(depth - 1, names)  # noqa: E731
        if kind == "type":
            schema["type"] = rng.choice(TYPES)
        elif kind == "types":
            schema["type"] = rng.sample(TYPES, 3)
        elif kind == "enum":
            schema["enum"] = self.few(lambda: self.value(2), 1, 5)
        elif kind == "const":
            schema["const"] = self.value(2)
        elif kind == "number":
            schema[rng.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])] = rng.choice(
                [0, 1, 2.5, 3, -1]
            )
        elif kind == "multiple":
            schema["multipleOf"] = rng.choice([1, 2, 3, 0.5, 5])
        elif kind == "length":
            schema |= self.range("minLength", "maxLength", 2)
        elif kind == "pattern":
            schema["pattern"] = rng.choice(PATTERNS)
        elif kind == "unique":
            schema["uniqueItems"] = rng.random() < 0.8
        elif kind == "items_range":
            schema |= self.range("minItems", "maxItems", 2)
        elif kind == "properties_range":
            schema |= self.range("minProperties", "maxProperties", 2)
        elif kind == "required":
            schema["required"] = rng.sample(KEYS, rng.randint(1, 2))
        elif kind == "dependent_keys":
            schema["dependencies" if self.is_draft7 else "dependentRequired"] = {
                rng.choice(KEYS): rng.sample(KEYS, 1)
            }
        elif kind == "properties":
            schema["properties"] = {key: child() for key in rng.sample(KEYS, rng.randint(1, 4))}
        elif kind == "patterns":
            schema["patternProperties"] = {rng.choice(PATTERNS): child()}
        elif kind == "additional":
            schema["additionalProperties"] = child()
        elif kind == "names":
            schema["propertyNames"] = self.schema(0, [])
        elif kind == "items":
            schema.pop("additionalItems", None)
            schema["items"] = child()
        elif kind == "prefix" and self.is_draft7:
            schema["items"] = self.few(child)
            if rng.random() < 0.5:
                schema["additionalItems"] = child()
        elif kind == "prefix":
            schema["prefixItems"] = self.few(child)
        elif kind == "contains":
            schema["contains"] = child()
            if not self.is_draft7 and rng.random() < 0.5:
                schema |= self.range("minContains", "maxContains", 2)
        elif kind in ("all", "any", "one"):
            schema[kind + "Of"] = self.few(here)
        elif kind == "not":
            schema["not"] = here()
        elif kind == "if":
            schema |= {"if": here(), "then": here(), "else": here()}
        elif kind == "dependent_schemas":
            schema["dependencies" if self.is_draft7 else "dependentSchemas"] = {rng.choice(KEYS): here()}
        else:
            key = "unevaluatedProperties" if kind == "unevaluated_properties" else "unevaluatedItems"
            schema[key] = rng.choice([False, False, True, self.schema(0, [])])

    def instance(self, schema, depth=3):
        """A value that has a chance to be valid."""
        rng = self.rng
        if not isinstance(schema, dict) or rng.random() < 0.3:
            return self.value(depth)
        if "const" in schema and rng.random() < 0.8:
            return schema["const"]
        if "enum" in schema and rng.random() < 0.8:
            return rng.choice(schema["enum"])
        for key in ("allOf", "anyOf", "oneOf"):
            if key in schema and rng.random() < 0.5:
                return self.instance(rng.choice(schema[key]), depth)
        objects = {
            "properties",
            "required",
            "patternProperties",
            "minProperties",
            "additionalProperties",
            "unevaluatedProperties",
        }
        arrays = {"items", "prefixItems", "contains", "uniqueItems", "minItems", "unevaluatedItems"}
        if schema.get("type") == "object" or objects & schema.keys():
            properties = schema.get("properties", {})
            keys = set(rng.sample(KEYS, rng.randint(0, 3))) | set(schema.get("required", []))
            keys |= {key for key in properties if rng.random() < 0.7}
            return {
                key: self.instance(properties.get(key), depth - 1) if depth > 0 else 1 for key in sorted(keys)
            }
        if schema.get("type") == "array" or arrays & schema.keys():
            items = schema.get("prefixItems", schema.get("items"))
            pick = lambda i: (items[i] if i < len(items) else None) if isinstance(items, list) else items  # noqa: E731
            return [self.instance(pick(i), depth - 1) if depth > 0 else i for i in range(rng.randint(0, 4))]
        wanted = {"string": str, "integer": int, "number": (int, float), "null": type(None), "boolean": bool}
        kind = wanted.get(schema.get("type")) if isinstance(schema.get("type"), str) else None
        return rng.choice([v for v in SCALARS if isinstance(v, kind)] if kind else SCALARS)


def judge(schema, text):
    is_draft7 = isinstance(schema, dict) and schema.get("$schema") == D7
    return (Draft7Validator if is_draft7 else Draft202012Validator)(schema).is_valid(json.loads(text))


def generated(seed, count):
    """`count` rows {"schema", "instance", "valid"} by jsonschema, three instances to a schema."""
    rng = random.Random(seed)
    rows = []
    while len(rows) < count:
        generator = Generator(rng, rng.random() < 0.4)
        schema = generator.document()
        for _ in range(3):
            text = json.dumps(generator.instance(schema), ensure_ascii=rng.random() < 0.5)
            rows.append({"schema": schema, "instance": text, "valid": judge(schema, text)})
    return rows[:count]


def by_hand():
    for schema, text, valid in CASES:
        assert judge(schema, text) == valid, (schema, text)
    for schema, text, valid in DIFFERENCES:
        assert judge(schema, text) != valid, (schema, text)
    return [
        {"schema": schema, "instance": text, "valid": valid} for schema, text, valid in CASES + DIFFERENCES
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1500)
    parser.add_argument("--output", type=pathlib.Path, default=PATH)
    arguments = parser.parse_args()
    rows = by_hand() + generated(arguments.seed, arguments.count)
    with open(arguments.output, "w", encoding="utf-8") as file:
        for schema, group in itertools.groupby(
            rows, key=lambda row: json.dumps(row["schema"], ensure_ascii=False)
        ):
            cases = json.dumps([[row["instance"], row["valid"]] for row in group], ensure_ascii=False)
            file.write(f'{{"schema": {schema}, "cases": {cases}}}\n')
    print(f"{len(rows)} pairs, {sum(row['valid'] for row in rows)} of them valid")


if __name__ == "__main__":
    main()
