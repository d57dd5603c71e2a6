"""The JSON schema of a Python function that a model may call, from its type hints and its docstring.

A schema is the one that transformers.utils.get_json_schema gives, which chat templates read. The docstring follows
Google's style: what the function does, then "Args:" with a line for each argument. Needs nothing but Python 3.9.
"""

import inspect
import json
import re
import types
import typing

_NAMES = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    type(None): "null",
    list: "array",
    tuple: "array",
    dict: "object",
}
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
_SECTION = re.compile(r"^\s*(Args|Returns|Raises):\s*$")
_ARGUMENT = re.compile(r"^(\w+):\s*(.*)$")
_CHOICES = re.compile(r"\(choices:\s*(.*?)\)\s*$", re.IGNORECASE | re.DOTALL)


class ToolError(Exception):
    """A function that cannot be a tool."""


def _type_schema(hint):
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is typing.Any:
        return {}
    if origin is None:
        return {"type": _NAMES.get(hint, "object")}
    if origin in _UNIONS:
        return _union_schema(arguments)
    if origin is typing.Literal:
        names = list(dict.fromkeys(_NAMES[type(value)] for value in arguments))
        return {"type": names[0] if len(names) == 1 else names, "enum": list(arguments)}
    if origin is list:
        return {"type": "array", **({"items": _type_schema(arguments[0])} if arguments else {})}
    if origin is tuple:
        if ... in arguments or len(arguments) == 1:
            raise ToolError(f"the hint {hint} has no schema: write list[...] instead")
        return {
            "type": "array",
            **({"prefixItems": [_type_schema(one) for one in arguments]} if arguments else {}),
        }
    if origin is dict:
        values = {"additionalProperties": _type_schema(arguments[1])} if len(arguments) == 2 else {}
        return {"type": "object", **values}
    raise ToolError(f"the hint {hint} has no schema")


def _union_schema(choices):
    schemas = [_type_schema(choice) for choice in choices if choice is not type(None)]
    if len(schemas) == 1:
        result = schemas[0]
    elif all(schema.keys() == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        names = sorted({schema["type"] for schema in schemas})
        result = {"type": names[0] if len(names) == 1 else names}
    else:
        result = {"anyOf": schemas}
    if type(None) in choices:
        result["nullable"] = True
    return result


def _sections(docstring):
    """The lines of the description and of each section of a docstring."""
    sections, name = {"": []}, ""
    for line in inspect.cleandoc(docstring).splitlines():
        found = _SECTION.match(line)
        if found:
            name = found[1]
            sections[name] = []
        else:
            sections[name].append(line)
    return sections


def _argument_texts(lines):
    """What a docstring says of each argument; a line that begins no argument goes on with the one before."""
    texts, name = {}, None
    for line in filter(None, map(str.strip, lines)):
        found = _ARGUMENT.match(line)
        if found:
            name = found[1]
            texts[name] = found[2]
        elif name is not None:
            texts[name] = f"{texts[name]} {line}".strip()
    return texts


def schema_of(function):
    """{"type": "function", "function": {"name", "description", "parameters"}}. ToolError for a function without docstring,
    and for an argument without type hint or without a line in the docstring."""
    name = function.__name__
    docstring = inspect.getdoc(function)
    if not docstring:
        raise ToolError(f"the tool {name} needs a docstring that says what it does")
    sections = _sections(docstring)
    texts = _argument_texts(sections.get("Args", ()))
    hints = typing.get_type_hints(function)
    properties, required = {}, []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.annotation is parameter.empty:
            if parameter.name in ("self", "cls") and not properties:
                continue
            raise ToolError(f"the tool {name} needs a type hint of its argument {parameter.name}")
        if parameter.name not in texts:
            raise ToolError(
                f"the docstring of the tool {name} has no line about its argument {parameter.name}"
            )
        text, schema = texts[parameter.name], _type_schema(hints[parameter.name])
        choices = _CHOICES.search(text)
        if choices:
            schema["enum"] = [choice.strip() for choice in json.loads(choices[1])]
            text = text[: choices.start()].strip()
        properties[parameter.name] = {**schema, "description": text}
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    parameters = {"type": "object", "properties": properties, **({"required": required} if required else {})}
    result = {"name": name, "description": "\n".join(sections[""]).strip(), "parameters": parameters}
    if "return" in hints:
        returned = _type_schema(hints["return"])
        text = " ".join(filter(None, map(str.strip, sections.get("Returns", ()))))
        result["return"] = {**returned, **({"description": text} if text else {})}
    return {"type": "function", "function": result}
