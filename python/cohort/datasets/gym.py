"""Problems of PyPI's reasoning-gym as rows, and the reward that scores their answers."""

import difflib
import functools
import json
import re
import warnings

from cohort.datasets.values import to_json

TUPLE, ITEMS = (
    "__tuple__",
    "__items__",
)  # keys that stand for a tuple, and for a dict with other keys than texts


def reasoning_gym(name, size=500, seed=0, *, conversational=False, system_prompt=None, exclude=(), **config):
    """Returns problems of the data set `name` as a list of rows, and the reward for them.

    A row has `prompt` (a text, or messages if `conversational`), `answer` (a text; None where several are right),
    `domain` (`name`) and `entry`: JSON text of all that scoring needs. `size` problems are made from `seed`; those whose question is among the rows of
    `exclude` are left out. `config` holds the data set's own settings; `system_prompt` begins each prompt. The reward
    is `reasoning_gym_reward`.

    Raises ValueError for an unknown data set or setting and for a value that the data set refuses, ImportError without
    reasoning-gym.
    """
    config = dict(sorted(config.items()))
    dataset = _create(name, size=size, seed=seed, **config)
    seen = {json.loads(row["entry"])["question"] for row in exclude}
    entries = (dataset[index] for index in range(size))
    rows = [
        _row(name, config, entry, conversational, system_prompt)
        for entry in entries
        if entry["question"] not in seen
    ]
    return rows, reasoning_gym_reward


def reasoning_gym_reward(completions, entry, **columns):
    """Scores completions with `score_answer` of the rows' data sets, from 0 to 1.

    The answer is what follows the last `</think>`: of that the inside of the last `<answer>`, else of the last
    `\\\\boxed{}`, else all of it. `entry` is the column that `reasoning_gym` writes. Where reasoning-gym itself fails, the
    score is NaN, which is an error of that completion alone. Raises ImportError without reasoning-gym.
    """
    return [score_answer(stated_answer(text_of(c)), e) for c, e in zip(completions, entry, strict=True)]


def score_answer(answer, entry):
    """Returns the score of one answer, a text or None, for one value of the column `entry`."""
    entry = json.loads(entry, object_hook=_untagged)
    dataset = _scorer(entry["dataset"], json.dumps(entry["config"], sort_keys=True))
    try:
        return float(dataset.score_answer(answer, entry))
    except Exception as error:
        warnings.warn(
            f"reasoning-gym's {entry['dataset']} can't score {answer!r:.200}: {type(error).__name__}: {error}",
            stacklevel=2,
        )
        return float("nan")


def text_of(completion):
    """The text of a completion: that of its last message, if it is a list of messages."""
    return completion if isinstance(completion, str) else completion[-1]["content"]


def stated_answer(text):
    """The answer that a text states, without white space at its ends."""
    text = text.rpartition("</think>")[2]
    tags = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    if tags:
        return tags[-1].strip()
    box = text.rfind("\\boxed{")
    return (text if box < 0 else _inside_braces(text[box + len("\\boxed") :])).strip()


def _inside_braces(text):
    """What the brace at the beginning of `text` holds; nothing, if it is never closed."""
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return text[1:index]
    return ""


def _row(name, config, entry, conversational, system_prompt):
    question = entry["question"]
    if conversational:
        prompt = [{"role": "system", "content": system_prompt}] if system_prompt else []
        prompt.append({"role": "user", "content": question})
    else:
        prompt = f"{system_prompt}\n\n{question}" if system_prompt else question
    text = json.dumps(to_json(_tagged({"dataset": name, "config": config, **entry})), ensure_ascii=False)
    return {"prompt": prompt, "answer": entry["answer"], "domain": name, "entry": text}


def _tagged(value):
    """Replaces what JSON lacks and score_answer may need: tuples, and dicts whose keys are no texts."""
    if isinstance(value, tuple):
        return {TUPLE: [_tagged(item) for item in value]}
    if isinstance(value, list):
        return [_tagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    if all(isinstance(key, str) for key in value):
        return {key: _tagged(item) for key, item in value.items()}
    return {ITEMS: [[_tagged(key), _tagged(item)] for key, item in value.items()]}


def _untagged(value):
    if TUPLE in value:
        return tuple(value[TUPLE])
    return dict(value[ITEMS]) if ITEMS in value else value


@functools.cache
def _scorer(name, config):
    return _create(name, **json.loads(config))


def _create(name, **config):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of a package that reasoning-gym imports
            import reasoning_gym
            from reasoning_gym.factory import DATASETS
    except ImportError:
        raise ImportError("reasoning-gym is not installed: pip install reasoning-gym") from None
    if name not in DATASETS:
        raise ValueError(f"reasoning-gym has no data set {name!r}{_nearest(name, DATASETS)}")
    known = DATASETS[name][1].__dataclass_fields__
    for key in config:
        if key not in known:
            raise ValueError(
                f"{name} has no setting {key!r}{_nearest(key, known)}; it has {', '.join(known)}"
            )
    try:
        return reasoning_gym.create_dataset(name, **config)
    except (AssertionError, TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error or 'a setting is out of range'}") from None


def _nearest(name, known):
    near = difflib.get_close_matches(name, known, 1)
    return f"; the nearest is {near[0]!r}" if near else ""
