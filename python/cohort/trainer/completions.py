"""Completions of a step, printed with the log and given to W&B and trackio."""

import importlib
import json
from collections.abc import Mapping
from typing import Any


def log_completions(rows: list[dict[str, Any]], step: int, extra: Mapping[str, list[Any]], args: Any) -> None:
    """Prints the first rows of completions.jsonl and logs all of them as the table `completions` of TRL: step, prompt,
    completion, rewards, what log_extra was given, and advantage."""
    table = _table(rows, step, extra, args.log_unique_prompts)
    _print(table[: args.num_completions_to_print], step)
    if not table:
        return
    for tool in _tools(args.report_to):
        data = [list(row.values()) for row in table]
        tool.log({"completions": tool.Table(columns=list(table[0]), data=data, allow_mixed_types=True)})


def _table(
    rows: list[dict[str, Any]], step: int, extra: Mapping[str, list[Any]], unique: bool
) -> list[dict[str, Any]]:
    table, seen = [], set()
    for place, row in enumerate(rows):
        if unique and row["prompt"] in seen:
            continue
        seen.add(row["prompt"])
        table.append(
            {
                "step": step,
                "prompt": row["prompt"],
                "completion": row["completion"],
                **{name: result.get("score") for name, result in row["rewards"].items()},
                **{name: values[place] for name, values in extra.items() if len(values) == len(rows)},
                "advantage": row["advantage"],
            }
        )
    return table


def _tools(report_to: list[str]) -> list[Any]:
    """The modules among report_to's that have tables and a run."""
    tools = [importlib.import_module(name) for name in ("wandb", "trackio") if name in report_to]
    return [tool for tool in tools if getattr(tool, "run", tool) is not None]


def _print(rows: list[dict[str, Any]], step: int) -> None:
    """A table; plain lines where rich is not installed."""
    shown = [{name: value for name, value in row.items() if name != "step"} for row in rows]
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        for row in shown:
            print(f"step {step}: {json.dumps(row, ensure_ascii=False)}")
        return
    table = Table(title=f"step {step}", show_lines=True)
    for column in shown[0] if shown else ():
        table.add_column(column)
    for row in shown:
        table.add_row(*(_cell(value) for value in row.values()))
    Console().print(table)


def _cell(value: Any) -> str:
    from rich.markup import escape

    return f"{value:.3f}" if isinstance(value, float) else escape(str(value))
