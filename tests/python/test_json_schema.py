"""The reward json_schema against jsonschema, on pairs of a schema and an instance that no golden file holds.

COHORT=build/cohort PYTHONPATH=tools/make_golden .venv-test/bin/python tests/python/test_json_schema.py [COUNT] [SEED]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from json_schema import by_hand, generated


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    rows = by_hand() + generated(seed, count)
    with tempfile.TemporaryDirectory() as folder:
        source, output = pathlib.Path(folder, "rows.jsonl"), pathlib.Path(folder, "scores.jsonl")
        # As text, so that the digits of numbers arrive as they are written.
        lines = [json.dumps({"completion": r["instance"], "schema": json.dumps(r["schema"])}) for r in rows]
        source.write_text("\n".join(lines) + "\n")
        command = [
            os.environ["COHORT"],
            "verify",
            "--reward",
            "json_schema",
            "--input",
            source,
            "--output",
            output,
        ]
        subprocess.run(command, check=True)
        results = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(results) == len(rows)
    wrong = [(row, result) for row, result in zip(rows, results) if result["score"] != float(row["valid"])]
    for row, result in wrong[:10]:
        print(json.dumps(row), json.dumps(result))
    print(f"{len(rows)} pairs, {sum(row['valid'] for row in rows)} valid, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
