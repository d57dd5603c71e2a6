"""Completions of a step, printed with the log."""

import json
from collections.abc import Mapping
from typing import Any


def print_completions(rows: list[str], step: int, extra: Mapping[str, list[Any]], args: Any) -> None:
    """A table of prompt, completion, rewards and advantage of each row of completions.jsonl; plain lines where rich is not
    installed."""
    chosen = _chosen([json.loads(row) for row in rows], extra, args)
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        for row in chosen:
            print(f"step {step}: {json.dumps(row, ensure_ascii=False)}")
        return
    table = Table(title=f"step {step}", show_lines=True)
    for column in chosen[0] if chosen else ():
        table.add_column(column)
    for row in chosen:
        table.add_row(*(_cell(value) for value in row.values()))
    Console().print(table)


def _chosen(rows: list[dict[str, Any]], extra: Mapping[str, list[Any]], args: Any) -> list[dict[str, Any]]:
    chosen, seen = [], set()
    for place, row in enumerate(rows):
        if args.log_unique_prompts and row["prompt"] in seen:
            continue
        seen.add(row["prompt"])
        scores = {name: result.get("score") for name, result in row["rewards"].items()}
        more = {name: values[place] for name, values in extra.items() if len(values) == len(rows)}
        chosen.append(
            {
                "prompt": row["prompt"],
                "completion": row["completion"],
                **scores,
                **more,
                "advantage": row["advantage"],
            }
        )
    return chosen[: args.num_completions_to_print]


def _cell(value: Any) -> str:
    from rich.markup import escape

    return f"{value:.3f}" if isinstance(value, float) else escape(str(value))
