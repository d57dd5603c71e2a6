"""Hand-written cases of JSON Schema: (schema, instance as JSON text, whether it is valid by the specification).

DIFFERENCES are those where jsonschema, which computes with float64 and Python's regular expressions, says otherwise.
"""

D7 = "http://json-schema.org/draft-07/schema#"
D2020 = "https://json-schema.org/draft/2020-12/schema"

TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}
WITH_IDS = {
    "$id": "https://example.com/schemas/root",
    "$defs": {
        "item": {"$id": "item", "type": "integer", "$defs": {"low": {"$anchor": "low", "maximum": 3}}},
        "named": {"$anchor": "named", "type": "string"},
    },
    "properties": {
        "a": {"$ref": "item"},
        "b": {"$ref": "#named"},
        "c": {"$ref": "https://example.com/schemas/item#low"},
        "d": {"$ref": "item#/$defs/low"},
    },
}
CLOSED = {
    "properties": {"a": {"type": "integer"}},
    "allOf": [{"properties": {"b": {"type": "string"}}}],
    "anyOf": [
        {"properties": {"c": True}, "required": ["c"]},
        {"properties": {"d": True}, "required": ["d"]},
        True,
    ],
    "if": {"required": ["e"]},
    "then": {"properties": {"e": True, "f": True}},
    "unevaluatedProperties": False,
}
OPEN_TAIL = {"prefixItems": [{"type": "integer"}], "contains": {"type": "string"}, "unevaluatedItems": False}

CASES = [
    (True, "1", True),
    (False, "1", False),
    ({}, "null", True),
    ({"type": "integer"}, "1", True),
    ({"type": "integer"}, "1.0", True),
    ({"type": "integer"}, "1e2", True),
    ({"type": "integer"}, "1.5", False),
    ({"type": "integer"}, "123456789012345678901234567890", True),
    ({"type": "integer"}, "true", False),
    ({"type": "number"}, "3", True),
    ({"type": ["string", "null"]}, "null", True),
    ({"type": ["string", "null"]}, "0", False),
    ({"type": "boolean"}, "0", False),
    ({"enum": [1, "a", [2], {"b": None}]}, "1.0", True),
    ({"enum": [1, "a", [2], {"b": None}]}, "true", False),
    ({"enum": [1, "a", [2], {"b": None}]}, "[2.0]", True),
    ({"enum": [1, "a", [2], {"b": None}]}, '{"b": null}', True),
    ({"const": False}, "0", False),
    ({"const": {"a": 1, "b": 2}}, '{"b": 2, "a": 1}', True),
    ({"const": [False]}, "[0]", False),
    ({"minimum": 3}, "3", True),
    ({"minimum": 3}, "2.9999999999", False),
    ({"minimum": 3}, '"2"', True),
    ({"exclusiveMinimum": 3}, "3", False),
    ({"maximum": -1}, "-1.0", True),
    ({"exclusiveMaximum": -1}, "-1.5", True),
    ({"maximum": 100000000000000000000}, "100000000000000000001", False),
    ({"multipleOf": 2}, "7", False),
    ({"multipleOf": 0.5}, "3.5", True),
    ({"multipleOf": 3}, "100000000000000000002", True),
    ({"minLength": 2, "maxLength": 2}, '"\\ud83d\\ude00\\u00e9"', True),
    ({"minLength": 2}, '"\U0001f600"', False),
    ({"maxLength": 1}, '"\U0001f600"', True),
    ({"pattern": "^a+$"}, '"aaa"', True),
    ({"pattern": "^a+$"}, '"baa"', False),
    ({"pattern": "b"}, '"abc"', True),
    ({"pattern": "^$"}, '"a\\n"', False),
    ({"pattern": "^b"}, '"a\\nb"', False),
    ({"pattern": "\\u00e9"}, '"caf\u00e9"', True),
    ({"pattern": "^[^\\u0000-\\u007f]+$"}, '"\u00e9\u00e8"', True),
    ({"pattern": "^[$]$"}, '"$"', True),
    ({"minItems": 1, "maxItems": 2}, "[]", False),
    ({"minItems": 1, "maxItems": 2}, "[1, 2]", True),
    ({"minItems": 1.0}, "[1]", True),
    ({"uniqueItems": True}, "[1, true, 0, false]", True),
    ({"uniqueItems": True}, "[1, 1.0]", False),
    ({"uniqueItems": True}, '[{"a": 1, "b": 2}, {"b": 2, "a": 1}]', False),
    ({"uniqueItems": True}, "[[1], [true]]", True),
    ({"uniqueItems": False}, "[1, 1]", True),
    ({"items": {"type": "integer"}}, '[1, 2, "3"]', False),
    ({"prefixItems": [{"type": "integer"}], "items": False}, "[1]", True),
    ({"prefixItems": [{"type": "integer"}], "items": False}, "[1, 2]", False),
    (
        {"$schema": D7, "items": [{"type": "integer"}], "additionalItems": {"type": "string"}},
        '[1, "a"]',
        True,
    ),
    ({"$schema": D7, "items": [{"type": "integer"}], "additionalItems": {"type": "string"}}, "[1, 2]", False),
    ({"$schema": D7, "items": [{"type": "integer"}]}, "[1, null]", True),
    ({"contains": {"minimum": 5}}, "[1, 6]", True),
    ({"contains": {"minimum": 5}}, "[]", False),
    ({"contains": {"minimum": 5}, "minContains": 0}, "[1]", True),
    ({"contains": {"minimum": 5}, "minContains": 2, "maxContains": 3}, "[5, 6, 7, 8]", False),
    ({"contains": {"minimum": 5}, "minContains": 2, "maxContains": 3}, "[5, 6, 1]", True),
    ({"required": ["a"]}, '{"b": 1}', False),
    ({"required": ["a"]}, "[]", True),
    ({"properties": {"a": {"type": "string"}}}, '{"a": 1}', False),
    ({"properties": {"a": False}}, '{"b": 1}', True),
    ({"properties": {"a": {}}, "additionalProperties": False}, '{"a": 1, "b": 2}', False),
    (
        {"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
        '{"xa": 1, "b": "c"}',
        True,
    ),
    (
        {"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
        '{"xa": "1"}',
        False,
    ),
    ({"propertyNames": {"maxLength": 2}}, '{"abc": 1}', False),
    ({"propertyNames": {"enum": ["a"]}}, '{"a": 1}', True),
    ({"minProperties": 1, "maxProperties": 1}, '{"a": 1}', True),
    ({"minProperties": 2}, '{"a": 1}', False),
    ({"dependentRequired": {"a": ["b"]}}, '{"a": 1}', False),
    ({"dependentRequired": {"a": ["b"]}}, '{"c": 1}', True),
    ({"dependentSchemas": {"a": {"required": ["c"]}}}, '{"a": 1, "c": 2}', True),
    ({"$schema": D7, "dependencies": {"a": ["b"], "c": {"minProperties": 2}}}, '{"c": 1}', False),
    ({"$schema": D7, "dependencies": {"a": ["b"], "c": {"minProperties": 2}}}, '{"a": 1, "b": 1}', True),
    ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, "2", True),
    ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, "4", False),
    ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, "1", False),
    ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, "6", False),
    ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, "9", True),
    ({"not": {"type": "string"}}, '"a"', False),
    ({"not": {"not": {"type": "string"}}}, '"a"', True),
    ({"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"multipleOf": 3}}, "20", True),
    ({"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"multipleOf": 3}}, "12", False),
    ({"if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"multipleOf": 3}}, "9", True),
    (TREE, '{"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}', True),
    (TREE, '{"value": 1, "children": [{"value": 2, "children": [{"value": "3"}]}]}', False),
    (TREE, '{"value": 1, "child": []}', False),
    ({"properties": {"next": {"$ref": "#"}}, "additionalProperties": False}, '{"next": {"next": {}}}', True),
    ({"properties": {"next": {"$ref": "#"}}, "additionalProperties": False}, '{"next": {"last": {}}}', False),
    (
        {
            "$defs": {"a/b": {"type": "null"}, "c~d": {"type": "null"}},
            "anyOf": [{"$ref": "#/$defs/a~1b"}, {"$ref": "#/$defs/c~0d"}],
        },
        "null",
        True,
    ),
    ({"$defs": {"a b": {"type": "null"}}, "$ref": "#/$defs/a%20b"}, "1", False),
    ({"$defs": {"a": {"minimum": 1}}, "$ref": "#/$defs/a", "maximum": 3}, "5", False),
    (WITH_IDS, '{"a": 1, "b": "x", "c": 2, "d": 3}', True),
    (WITH_IDS, '{"a": "1"}', False),
    (WITH_IDS, '{"b": 1}', False),
    (WITH_IDS, '{"c": 4}', False),
    (WITH_IDS, '{"d": 4}', False),
    (CLOSED, '{"a": 1, "b": "x", "c": 0, "d": 0}', True),
    (CLOSED, '{"a": 1, "g": 1}', False),
    (CLOSED, '{"e": 1, "f": 1}', True),
    (CLOSED, '{"f": 1}', False),
    (OPEN_TAIL, '[1, "a", "b"]', True),
    (OPEN_TAIL, '[1, "a", 2]', False),
    (
        {
            "$schema": D2020,
            "title": "t",
            "description": "d",
            "default": 1,
            "examples": [2],
            "$comment": "c",
            "format": "email",
        },
        '"no address"',
        True,
    ),
    (
        {"$schema": D7, "definitions": {"a": {"type": "string"}}, "items": {"$ref": "#/definitions/a"}},
        '["a", 1]',
        False,
    ),
    (
        {"$schema": D7, "definitions": {"a": {"$id": "#a", "type": "string"}}, "items": {"$ref": "#a"}},
        '["a", 1]',
        False,
    ),
]

DIFFERENCES = [
    ({"multipleOf": 0.1}, "0.3", True),  # float64: 0.3 / 0.1 is no integer
    ({"multipleOf": 0.01}, "19.99", True),
    ({"pattern": "^a$"}, '"a\\n"', False),  # Python's $ matches before a line break at the end
    ({"pattern": "^\\d$"}, '"\u0663"', False),  # ECMA-262's \d is 0 to 9
    ({"const": 0.1}, "0.1000000000000000000001", False),  # float64 rounds
    ({"maximum": 1}, "1.00000000000000000001", False),
]
