"""Wrong arguments, rows and models: one clear line, exit code 2, and nothing written.

COHORT=build/cohort python3 tests/cli/test_wrong_input.py
"""

import json
import unittest

import cli_case
from cli_case import CONFIG, CONTEXT, RefusalTest, write_lines

setUpModule = cli_case.setUpModule


class WrongInputTest(RefusalTest):
    def sampling(self, content, *options, model=None):
        path = self.folder / "wrong.jsonl"
        path.write_text(content, encoding="utf-8")
        return ["sample", "--model", model or self.model, "--input", path, "--output", "OUT", *options]

    def scoring(self, content):
        return ["score", *self.sampling(content)[1:]]

    def with_config(self, name, **changes):
        def change(folder):
            config = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps({**config, **changes}))

        return self.broken_model(name, change)

    def test_arguments(self):
        ask = ["sample", "--model", self.model, "--input", self.prompts, "--output", "OUT"]
        for arguments, parts in [
            (["smaple"], ['"smaple"', '"sample"']),
            ([*ask, "--temprature", 1], ["--temprature", "temperature"]),
            ([*ask, "--temperature", "warm"], ["--temperature", "warm"]),
            ([*ask, "--temperature", -1], ["--temperature", "at least 0"]),
            ([*ask, "--top-p", 0], ["--top-p", "above 0"]),
            ([*ask, "--num-generations", 0], ["--num-generations", "at least 1"]),
            ([*ask, "--num-generations", 1.5], ["--num-generations", "1.5"]),
            ([*ask, "--dtype", "float16"], ["--dtype", "float32"]),
            ([*ask, "--seed"], ["--seed", "needs a value"]),
            ([*ask, "more"], ['"more"']),
            ([*ask, "--stop-strings", ""], ["stop_strings"]),
            ([*ask, "--cache-tokens", 1], ["cache_tokens", "give at least"]),
            (ask[:3], ["--input"]),
            (["sample", "--input", self.prompts, "--output", "OUT"], ["--model"]),
            (["sample", "--model", self.model, "--input", self.prompts], ["--output"]),
            ([*ask[:-1], self.folder / "no" / "where.jsonl"], ["where.jsonl", "does not exist"]),
            ([*ask[:-1], self.folder], [self.folder, "folder"]),
            (["info"], ["model directory"]),
            (["info", self.model, "more"], ['"more"']),
            (["info", "--model", self.model], ["--model", "none here"]),
            (["verify", "--input", self.prompts, "--output", "OUT"], ["--reward"]),
            (["verify", "--reward", "formt", "--input", self.prompts, "--output", "OUT"], ['"format"']),
            (["verify", "--reward", "format", "--input", self.prompts, "--output", "OUT"], ["completion"]),
            (["docs"], ["configuration"]),
            (["docs", "metrics"], ['"metrics"', "configuration"]),
            (["tokenize"], ["--model"]),
        ]:
            with self.subTest(arguments=arguments):
                self.refused(arguments, *parts)

    def test_rows(self):
        here = "wrong.jsonl:"
        for content, part in [
            ('{"prompt_ids": [1]}\n{"prompt_ids": [1\n', here + "2: malformed JSON"),
            ('{"prompt_ids": [1]}\n\n[1, 2]\n', here + "3: expected a JSON object"),
            ('{"prompt_ids": [1]}\n{"promt": "x"}\n', here + '2: give either "prompt"'),
            ('{"prompt": "x", "prompt_ids": [1]}\n', here + '1: give either "prompt"'),
            ('{"prompt": 5}\n', here + '1: the column "prompt" must be a string'),
            ('{"prompt_ids": 5}\n', here + '1: "prompt_ids" must be a list'),
            ('{"prompt_ids": [1, "2"]}\n', here + '1: "prompt_ids" holds "2"'),
            ('{"prompt_ids": [1.0]}\n', here + '1: "prompt_ids" holds 1.0'),
            ('{"prompt_ids": [-1]}\n', here + '1: "prompt_ids" holds -1'),
            ('{"prompt_ids": [18446744073709551615]}\n', here + '1: "prompt_ids" holds 18446744073709551615'),
            (
                '{"prompt_ids": [1]}\n{"prompt_ids": [1, 420]}\n',
                here + "2: id 420 lies outside the vocabulary",
            ),
            ('{"prompt_ids": []}\n', here + "1: the prompt has no tokens"),
            ('{"prompt": ""}\n', here + "1: the prompt has no tokens"),
            (json.dumps({"prompt_ids": [1] * CONTEXT}), here + f"1: the prompt has {CONTEXT} tokens"),
            ('{"prompt": "\\ud800"}\n', here + "1: "),
            ("\n", "holds no prompts"),
        ]:
            with self.subTest(content=content[:60]):
                self.refused(self.sampling(content), part)
        self.refused(
            self.sampling('{"prompt": "x"}\n', model=self.no_tokenizer), here + "1: ", "tokenizer.json"
        )
        ids = '{"prompt_ids": [1]}\n'
        self.refused(self.sampling(ids, "--stop-strings", "x", model=self.no_tokenizer), "tokenizer.json")

    def test_a_bad_row_behind_the_first_rollout_is_found_before_it(self):
        self.refused(
            self.sampling('{"prompt_ids": [1]}\n' * 600 + '{"prompt_ids": [999]}\n'),
            "wrong.jsonl:601: id 999",
        )

    def test_rows_to_score(self):
        for content, part in [
            ('{"prompt_ids": [1]}\n', 'wrong.jsonl:1: "completion_ids" must be a list'),
            ('{"prompt_ids": [1], "completion_ids": [420]}\n', "wrong.jsonl:1: id 420"),
            ('{"prompt_ids": [1], "completion_ids": [2]}\nnull\n', "wrong.jsonl:2: expected a JSON object"),
            (
                json.dumps({"prompt_ids": [1], "completion_ids": [1] * CONTEXT}),
                f"wrong.jsonl:1: {CONTEXT + 1} tokens",
            ),
        ]:
            with self.subTest(content=content[:60]):
                self.refused(self.scoring(content), part)

    def test_standard_input(self):
        for command, lines, part in [
            ("tokenize", '{"text": 3}', '<stdin>:1: "text" must be a string'),
            ("tokenize", "text", "<stdin>:1: malformed JSON"),
            ("detokenize", '{"text": "x"}', '<stdin>:1: "ids" must be a list'),
            ("detokenize", '{"ids": [420]}', "<stdin>:1: id 420 lies outside the vocabulary of 420"),
            ("detokenize", '\n{"ids": [true]}', '<stdin>:2: "ids" holds true'),
        ]:
            with self.subTest(command=command, lines=lines):
                self.refused([command, "--model", self.model], part, stdin=lines)
        self.refused(["tokenize", "--model", self.folder / "absent"], "absent", stdin="")
        self.refused(["tokenize", "--model", self.no_tokenizer], "tokenizer.json", stdin="")

    def test_missing_files(self):
        absent = self.folder / "absent.jsonl"
        self.refused(["sample", "--model", self.model, "--input", absent, "--output", "OUT"], absent)
        self.refused(["score", "--model", self.model, "--input", absent, "--output", "OUT"], absent)
        self.refused(["sample", "--model", absent, "--input", self.prompts, "--output", "OUT"], absent)
        self.refused(
            ["sample", "--model", self.model, "--input", self.folder, "--output", "OUT"], self.folder
        )
        self.refused(["info", absent], absent)

    def test_model_files_that_do_not_fit_together(self):
        def truncate(folder):
            path = folder / "model.safetensors"
            path.write_bytes(path.read_bytes()[:-8])

        def break_json(folder):
            (folder / "config.json").write_text('{\n  "vocab_size": 4,,\n}')

        def remove_weights(folder):
            (folder / "model.safetensors").unlink()

        for model, parts in [
            (self.with_config("wide", hidden_size=64), ["broken-wide", "tensor"]),
            (self.with_config("deep", num_hidden_layers=3), ["broken-deep", "layers.2."]),
            (self.with_config("shallow", num_hidden_layers=1), ["broken-shallow", "layers.1."]),
            (
                self.with_config("family", architectures=["LlamaForCausalLM"], model_type="llama"),
                ["broken-family", "k_norm.weight", "LlamaForCausalLM"],
            ),
            (
                self.with_config("unknown", architectures=["MambaForCausalLM"]),
                ["config.json", "MambaForCausalLM"],
            ),
            (self.with_config("rope", rope_scaling={"rope_type": "mrope"}), ["config.json", "mrope"]),
            (self.with_config("text", vocab_size="many"), ["config.json", '"vocab_size"']),
            (self.broken_model("short", truncate), ["broken-short", "model.safetensors"]),
            (self.broken_model("json", break_json), ["config.json:2: malformed JSON"]),
            (self.broken_model("empty", remove_weights), ["broken-empty"]),
        ]:
            with self.subTest(model=model.name):
                self.refused(self.sampling('{"prompt_ids": [1]}\n', model=model), *parts)

    def test_a_tokenizer_of_another_model(self):
        small = self.folder / "small.json"
        small.write_text(json.dumps({**CONFIG, "vocab_size": 100}))
        arguments = ["init", "--config", small, "--tokenizer", self.tokenizer, "--output", "OUT"]
        self.refused(arguments, "tokenizer.json", "vocab_size is 100")

    def test_init(self):
        ask = ["init", "--config", self.config, "--tokenizer", self.tokenizer, "--output"]
        self.refused([*ask, self.model], self.model, "exists already")
        self.refused([*ask, self.prompts], self.prompts, "exists already")
        self.refused(["init", "--config", self.folder / "none.json", *ask[3:], "OUT"], "none.json")
        self.refused([*ask[:4], self.no_tokenizer, "--output", "OUT"], "tokenizer.json")
        self.assertTrue((self.model / "model.safetensors").exists())

    def test_data(self):
        for arguments, parts in [
            (["data", "--output", "OUT"], ["countdown", "arithmetic"]),
            (["data", "countdow", "--output", "OUT"], ['"countdow"', '"countdown"']),
            (["data", "countdown", "more", "--output", "OUT"], ['"more"']),
            (["data", "countdown"], ["--output"]),
            (["data", "countdown", "--count", 0, "--output", "OUT"], ["--count", "at least 1"]),
            (["data", "countdown", "--split", "dev", "--output", "OUT"], ["--split", "train"]),
            (["data", "countdown", "--num_operands", 9, "--output", "OUT"], ["--num_operands", "6"]),
            (
                [
                    "data",
                    "countdown",
                    "--num_operands",
                    2,
                    "--max_value",
                    4,
                    "--count",
                    100000,
                    "--output",
                    "OUT",
                ],
                ["countdown", "distinct"],
            ),
        ]:
            with self.subTest(arguments=arguments):
                self.refused(arguments, *parts)

    def test_eval(self):
        ask = ["eval", "--model", self.model, "--input", self.countdown, "--output", "OUT"]
        self.refused(ask, "--reward")
        self.refused([*ask, "--reward", "countdwn"], "countdwn", "countdown")
        self.refused([*ask, "--reward", "command"], "command")
        self.refused([*ask, "--reward", "python"], "function", "FILE.py:NAME")
        self.refused([*ask, "--reward", "python", "--function", "none.py:f"], "no file none.py")
        self.refused([*ask, "--reward", "format", "--command", "cat"], "command", "no effect")
        self.refused([*ask, "--reward", "format", "--timeout-s", 3], "timeout_s", "no effect")
        self.refused(
            [*ask[:4], self.prompts, *ask[5:], "--reward", "format"], 'prompts.jsonl:1: the column "prompt"'
        )
        self.refused([*ask[:2], self.no_tokenizer, *ask[3:], "--reward", "format"], "tokenizer.json")
        long = write_lines(self.folder / "long.jsonl", [{"prompt": "1 " * CONTEXT}])
        self.refused([*ask[:4], long, *ask[5:], "--reward", "format"], "long.jsonl:1: the prompt has")


if __name__ == "__main__":
    unittest.main()
