"""Serves a Python reward function, written as TRL's GRPOTrainer calls them, to Cohort's reward type `python`.

    python3 cohort_reward.py my_rewards.py:my_reward       # or package.module:my_reward

Answers each line of standard input, {"id": "b7", "rows": [{"id": "0", "prompt", "completion",
"completion_ids", ...columns}]}, with a line {"id": "b7", "rewards": [{"id": "0", "score": 0.5}]}. The
function, plain or async, is called as

    my_reward(prompts=..., completions=..., completion_ids=..., **columns, log_extra=..., log_metric=...)

with lists that have an item per row, and returns a list of numbers; None leaves a row out. The prompts and
completions of conversations are lists of messages, others are strings. Needs nothing but Python 3.9.
"""

import asyncio
import difflib
import importlib
import importlib.util
import inspect
import json
import math
import os
import pathlib
import reprlib
import sys
import traceback

OWN_KEYS = (
    "id",
    "id_column",
    "prompt",
    "prompt_messages",
    "completion",
    "completion_messages",
    "completion_ids",
)
# What the function is given beside the columns: a column of such a name would be given twice.
GIVEN = ("log_extra", "log_metric")
MAX_TEXT = 500  # characters, about as many as Cohort keeps


def load(place):
    """The function of "FILE.py:NAME" or "MODULE:NAME"; NAME may have dots."""
    source, _, name = place.rpartition(":")
    if source.endswith(".py"):
        path = pathlib.Path(source).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        found = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = found
        spec.loader.exec_module(found)
    else:
        sys.path.insert(0, os.getcwd())
        found = importlib.import_module(source)
    for part in name.split("."):
        found = member(found, part, source)
    return found


def member(owner, name, source):
    """The attribute `name` of a module or class; where there is none, the error names the nearest one."""
    if hasattr(owner, name):
        return getattr(owner, name)
    near = difflib.get_close_matches(name, [known for known in dir(owner) if not known.startswith("_")], 1)
    advice = f"; did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"{source} has no attribute {name!r}{advice}")


def check_arguments(function, arguments):
    """Raises TypeError where the function needs an argument that no column gives, and names the columns."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some callables of C show no signature
        return
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    missing = [
        parameter.name
        for parameter in parameters
        if parameter.kind in named
        and parameter.default is parameter.empty
        and parameter.name not in arguments
    ]
    if not missing:
        return
    given = ("prompts", "completions", "completion_ids", *GIVEN)
    columns = sorted(name for name in arguments if name not in given)
    raise TypeError(
        f"the function needs the argument {missing[0]!r}, and no row of the call has such a column; "
        f"the columns are: {', '.join(columns) or 'none'}"
    )


def completion_of(row):
    """A text, or the messages of a conversation; of an episode all of them."""
    if "completion_messages" in row:
        return row["completion_messages"]
    if "prompt_messages" in row:
        return [{"role": "assistant", "content": row["completion"]}]
    return row["completion"]


def to_arguments(rows):
    """The keyword arguments for `rows`: a column that a row lacks is None there."""
    names = {name for row in rows for name in row if name not in OWN_KEYS + GIVEN}
    arguments = {name: [row.get(name) for row in rows] for name in names}
    if any("id_column" in row for row in rows):
        arguments["id"] = [row.get("id_column") for row in rows]
    arguments["prompts"] = [row.get("prompt_messages", row["prompt"]) for row in rows]
    arguments["completions"] = [completion_of(row) for row in rows]
    arguments["completion_ids"] = [row["completion_ids"] for row in rows]
    return arguments


def to_answer(value):
    """The members of a row's answer for what the function returned for it."""
    if value is None:
        return {"score": None}
    try:
        # Numbers of any library; float() would read texts, too.
        score = math.nan if isinstance(value, (str, bytes, bytearray)) else float(value)
    except BaseException:
        score = math.nan
    if not math.isfinite(score):
        return {"error": tidy(f"the function returned {reprlib.repr(value)}, which is no finite number")}
    return {"score": score}


class Tracebacks:
    """Writes the traceback of an exception to standard error: once for each place and type."""

    def __init__(self):
        self.written = set()

    def write(self, error):
        frames = traceback.extract_tb(error.__traceback__)
        key = (type(error), frames[-1].filename, frames[-1].lineno) if frames else type(error)
        if key not in self.written:
            self.written.add(key)
            traceback.print_exception(type(error), error, error.__traceback__)


TRACEBACKS = Tracebacks()


class RewardFunction:
    def __init__(self, place):
        self.place = place
        self.function = None
        self.failure = None
        # One loop for all calls: clients that a function keeps belong to the loop they were made in.
        self.loop = asyncio.new_event_loop()
        try:
            self.function = load(place)
        except BaseException as error:
            self.failure = tidy(f"{place} can't be loaded: {last_line(error, place)}")

    def answers(self, rows):
        """The answers to `rows`, in order, without their ids."""
        if self.function is None:
            return [{"error": self.failure}] * len(rows)
        details = [[] for _ in rows]

        def log_extra(column, values):
            for detail, value in zip(details, values):
                detail.append(tidy(f"{column} = {value}"))

        try:
            values = self.call(rows, log_extra)
        except BaseException as error:  # a Rust extension's panic or a cancelled task is no Exception
            return [{"error": tidy(last_line(error, self.place) + hint(error, rows))}] * len(rows)
        if len(values) != len(rows):
            error = f"the function returned {len(values)} rewards for {len(rows)} completions"
            return [{"error": error}] * len(rows)
        return [
            {**to_answer(value), **({"detail": tidy(", ".join(detail))} if detail else {})}
            for value, detail in zip(values, details)
        ]

    def call(self, rows, log_extra):
        arguments = {
            **to_arguments(rows),
            "log_extra": log_extra,
            "log_metric": lambda name, value: None,
        }
        check_arguments(self.function, arguments)
        values = self.function(**arguments)
        if inspect.isawaitable(values):
            values = self.loop.run_until_complete(values)
        return list(values)


def tidy(text):
    """The text as a reply may hold it: not without end, and no half of a surrogate pair, which no JSON holds."""
    text = text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "..."
    return text.encode("utf-8", "replace").decode()


def last_line(error, place):
    """The exception as "FILE:LINE: TYPE: TEXT", without its notes. Its traceback goes to standard error."""
    TRACEBACKS.write(error)
    summary = traceback.TracebackException(type(error), error, None)
    summary.__notes__ = None
    return tidy(where(error, place) + list(summary.format_exception_only())[-1].strip())


def hint(error, rows):
    """What a function that expects strings should do with conversations, where that may be its mistake."""
    frames = traceback.extract_tb(error.__traceback__)
    is_inside = bool(frames) and frames[-1].filename != __file__
    has_messages = any("prompt_messages" in row for row in rows)
    if is_inside and has_messages and isinstance(error, (AttributeError, TypeError)):
        return " (prompts and completions of conversations are lists of messages: completion[0]['content'])"
    return ""


def where(error, place):
    """ "FILE:LINE: " of the last frame in the function's own file, or else of the last frame outside this one."""
    machinery = {pathlib.Path(__file__).resolve(), pathlib.Path(importlib.__file__).resolve()}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame[0].startswith("<")]
    frames = [frame for frame in frames if pathlib.Path(frame.filename).resolve() not in machinery]
    source = place.rpartition(":")[0]
    if source.endswith(".py"):
        path = pathlib.Path(source).resolve()
        in_source = [frame for frame in frames if pathlib.Path(frame.filename).resolve() == path]
        if in_source:
            return f"{source}:{in_source[-1].lineno}: "
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def take_standard_streams():
    """Requests and replies keep the pipes; what the function and its children read and print goes elsewhere."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return requests, replies


def main():
    if len(sys.argv) != 2 or ":" not in sys.argv[1]:
        sys.exit(__doc__)
    requests, replies = take_standard_streams()
    function = RewardFunction(sys.argv[1])
    for line in requests:
        request = json.loads(line)
        rows = request["rows"]
        rewards = [{"id": row["id"], **answer} for row, answer in zip(rows, function.answers(rows))]
        replies.write(json.dumps({"id": request["id"], "rewards": rewards}) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
