"""Methods of an environment, made of the JSON schemas that a package gives for its tools."""

import inspect
import typing

HINTS = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
TAKEN = ("reset", "get_reward")


def tool_method(name, description, parameters, call):
    """Returns a method `name(self, **arguments)`, which calls `call(self, name, arguments)`, with type hints and docstring of a tool.

    `parameters` is the JSON schema of an object. Raises ValueError for names that no method or argument can have.
    """
    if name in TAKEN or name.startswith("_"):
        raise ValueError(f"a tool cannot be called {name!r}: an environment uses this name itself")
    required = parameters.get("required", ())
    values = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    hints, lines = {}, []
    for key, schema in parameters.get("properties", {}).items():
        if not key.isidentifier() or key == "self":
            raise ValueError(f"the tool {name} has an argument {key!r}, which is no name in Python")
        hint = hint_of(schema)
        default = inspect.Parameter.empty if key in required else schema.get("default")
        hints[key] = typing.Optional[hint] if default is None else hint
        values.append(
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[key])
        )
        lines.append(f"    {key}: {_one_line(schema.get('description')) or f'The {key}.'}")

    def method(self, **arguments):
        return call(self, name, arguments)

    text = _one_line(description) or f"Calls {name}."
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "\n".join([text, "", "Args:", *lines]) if lines else text
    method.__signature__ = inspect.Signature(values, return_annotation=str)
    method.__annotations__ = {**hints, "return": str}
    return method


def hint_of(schema):
    """The type hint of a JSON schema; Any for one that says nothing of its type."""
    if "enum" in schema:
        return typing.Literal[tuple(schema["enum"])]
    if "$ref" in schema:
        return dict
    choices = schema.get("anyOf") or schema.get("oneOf")
    kind = schema.get("type")
    if isinstance(kind, list):
        choices = [{"type": one} for one in kind]
    if choices:
        return typing.Union[tuple(hint_of(one) for one in choices)]
    if kind == "array" and schema.get("items"):
        return list[hint_of(schema["items"])]
    return HINTS.get(kind, typing.Any)


def _one_line(text):
    return " ".join((text or "").split())
