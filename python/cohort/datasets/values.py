"""Python, NumPy, torch and Arrow values as values that JSON has."""

import datetime
import decimal
import math
import uuid
from collections.abc import Mapping

MAX_LEVELS = 256  # of nesting, as the engine's own reader takes
BINARY = (bytes, bytearray, memoryview)


def to_json(value, levels=MAX_LEVELS):
    """Returns `value` as None, bool, int, float, str, list or dict.

    NumPy scalars and arrays and torch tensors become numbers and lists, dates and times ISO 8601 text, time spans
    seconds, decimals and UUIDs text. Raises ValueError for NaN, infinity, bytes, images, half a surrogate pair, keys
    that are no text and more than 256 levels; the message begins with a verb, for the caller to say which value.
    """
    kind = type(value)
    if value is None or kind is bool or kind is int:
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return _number(float(value))
    if levels == 0:
        raise ValueError(f"is nested more than {MAX_LEVELS} levels deep")
    if isinstance(value, Mapping):
        return {_key(key): to_json(item, levels - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item, levels - 1) for item in value]
    return _of_other_type(value, levels)


def _text(value):
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("has half a surrogate pair, which UTF-8 can't hold") from None
    return str(value)


def _key(key):
    if not isinstance(key, str):
        raise ValueError(f"has the key {key!r}; keys in JSON are texts")
    return _text(key)


def _number(value):
    if not math.isfinite(value):
        raise ValueError(f"is {value}, which JSON can't hold: remove the row, or put None")
    return value


def _of_other_type(value, levels):
    if isinstance(value, (bool, int)):  # subclasses, such as enums
        return int(value)
    if isinstance(value, BINARY):
        raise ValueError("holds bytes; the engine reads text: remove the column")
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return _date(value)
    if isinstance(value, datetime.timedelta):
        return _number(value.total_seconds())
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise ValueError(f"is {value}, which JSON can't hold: remove the row, or put None")
        return str(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    return _of_library(value, levels)


def _date(value):
    if value != value:  # pandas.NaT is a datetime
        raise ValueError("is NaT, which JSON can't hold: remove the row, or put None")
    return value.isoformat()


def _of_library(value, levels):
    library = type(value).__module__.partition(".")[0]
    if library == "PIL":
        raise ValueError("holds an image; the engine reads text: remove the column")
    if library == "numpy" and type(value).__name__ in ("datetime64", "timedelta64"):
        if value != value:
            raise ValueError("is NaT, which JSON can't hold: remove the row, or put None")
        # Python's times have microseconds; finer ones would come back as bare numbers.
        return to_json(value.astype(f"{type(value).__name__}[us]").item(), levels - 1)
    if library in ("numpy", "torch") and hasattr(value, "tolist"):
        return to_json(value.tolist(), levels - 1)
    raise ValueError(f"holds a {type(value).__name__}, which has no form in JSON")
