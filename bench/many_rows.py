"""Ten million rows: time and memory of opening them, and of drawing rows at random.

python3 bench/many_rows.py [--rows 10000000] [--program build/bench_many_rows] [--folder /tmp]

The file is made in the folder (about 1 GB for ten million rows), plain, or as gzip with --gzip, and deleted.
"""

import argparse
import gzip
import pathlib
import subprocess
import tempfile

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rows", type=int, default=10_000_000)
parser.add_argument("--draws", type=int, default=100_000)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--program", default="build/bench_many_rows")
parser.add_argument("--folder", default=tempfile.gettempdir())
parser.add_argument("--gzip", action="store_true", help="compress the file")
parser.add_argument("--deduplicate", default="none", choices=["none", "prompt", "row"])
options = parser.parse_args()


def lines(count):
    for i in range(count):
        yield b'{"prompt":"Numbers: %d %d %d. Target: %d. Use each number once.","target":%d}\n' % (
            i % 97,
            i % 89,
            i % 83,
            i,
            i * 7919 % 1000003,
        )


with tempfile.TemporaryDirectory(dir=options.folder) as folder:
    path = pathlib.Path(folder) / "rows.jsonl"
    with gzip.open(path, "wb", compresslevel=1) if options.gzip else path.open("wb") as file:
        file.writelines(lines(options.rows))
    print(f"{options.rows} rows, {path.stat().st_size / 2**20:.0f} MiB on disk", flush=True)
    subprocess.run(
        [options.program, path, options.deduplicate, str(options.draws), str(options.threads)], check=True
    )
