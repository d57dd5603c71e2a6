"""Jinja2 as transformers 5.23 sets it up, whatever version of transformers is installed."""

import re

import jinja2
import transformers
from transformers.utils import chat_template_utils

NEWEST = tuple(int(x) for x in transformers.__version__.split(".")[:2]) >= (5, 23)
REASONING = ("reasoning_content", "thinking", "reasoning")


class Namespace(jinja2.utils.Namespace):
    """Names that begin with an underscore are refused."""

    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            check_name(name)
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        check_name(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)


def check_name(name):
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(name)


class TemplateDict:
    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)


def compile_template(source):
    template = chat_template_utils._compile_jinja_template(source)
    if not NEWEST:
        template.environment.globals["namespace"] = Namespace
        template.environment.globals["dict"] = TemplateDict()
    return template


def render(source, variables):
    """{"text", "generated"}, or {"error"} for whatever is raised."""
    try:
        template = compile_template(source)
        blocks, spans = [], []
        with template.environment.activate_tracker(blocks, spans):
            for block in template.generate(**variables):
                blocks.append(block)
        return {"text": "".join(blocks), "generated": [list(span) for span in spans]}
    except RecursionError:
        return {"error": "recursion"}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def alias_reasoning(messages):
    """What transformers 5.23 does to the reasoning of messages; older versions leave it out."""
    if NEWEST:
        return messages
    aliased = []
    for message in messages:
        if isinstance(message, dict):
            reasoning = next((message[key] for key in REASONING if message.get(key) is not None), None)
            if reasoning is not None:
                message = {"thinking": reasoning, **message, "reasoning_content": reasoning}
        aliased.append(message)
    return aliased


def continued_fields(field, source):
    """Older versions mark one field only; they are told the one that the template reads."""
    if NEWEST or field not in REASONING:
        return field
    return next((name for name in REASONING if re.search(name, source)), field)
