"""How recipes, data and model files are read, and what is said of those that can't be.

COHORT=build/cohort python3 tests/cli/test_inputs.py
"""

import json
import shutil
import unittest

import cli_case
from cli_case import read_lines, run, write_lines

setUpModule = cli_case.setUpModule

RECIPE = """
seed = 3
[model]
path = "{model}"
dtype = "float32"
[data]
path = "{data}"
[rollout]
prompts_per_step = 2
num_generations = 2
max_completion_length = 4
[[reward]]
name = "length"
max_length = 4
[train]
max_steps = 1
[run]
dir = "{run}"
"""

SFT_RECIPE = """
[model]
path = "{model}"
dtype = "float32"
[data]
path = "{data}"
[train]
max_steps = 1
sequences_per_step = 2
[run]
dir = "{run}"
"""

TEMPLATE = (
    "{% if enable_thinking is defined and not enable_thinking %}!{% endif %}"
    "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


class InputTest(cli_case.CliTest):
    def setUp(self):
        self.place = self.folder / self.id().split(".")[-1]
        self.place.mkdir()
        self.chat = self.place / "chat-model"
        shutil.copytree(self.model, self.chat)
        (self.chat / "chat_template.jinja").write_text(TEMPLATE)

    def write(self, name, content):
        path = self.place / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def train(self, data, *options, model=None, recipe=RECIPE, command="train"):
        shutil.rmtree(self.place / "run", ignore_errors=True)
        path = self.write(
            "recipe.toml", recipe.format(model=model or self.model, data=data, run=self.place / "run")
        )
        return run(command, path, *options)

    def refused(self, result, *parts):
        """One line with these parts, and exit code 2."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"\Acohort: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(str(part), result.stderr)

    def prompts_of(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return {row["prompt"] for row in read_lines(self.place / "run" / "completions.jsonl")}

    def conversations(self):
        rows = [{"prompt": [{"role": "user", "content": f"{i}+1"}], "answer": i + 1} for i in range(2)]
        return write_lines(self.place / "chat.jsonl", rows)


class RecipeTest(InputTest):
    def test_misspelt_sections_and_names_of_other_tools(self):
        for text, part in [
            (
                "[optimiser]\nlearning_rate = 1.0\n",
                "recipe.toml:1: unknown section [optimiser]; did you mean [optimizer]?",
            ),
            ("[[rewards]]\nname = 'x'\n", "did you mean [[reward]]?"),
            ("[trainer]\n", "did you mean [train]?"),
            ("[evaluation]\n", "did you mean [train]?"),
            ("[reward_model]\n", "did you mean [[reward]]?"),
            ("warmup = 3\n", "Cohort's name for it is optimizer.warmup_steps"),
            ("lr = 1.0\n", "unknown key lr; Cohort's name for it is optimizer.learning_rate"),
            ("[train]\nper_device_train_batch_size = 4\n", "rollout.prompts_per_step"),
            ("[rollout]\nuse_vllm = true\n", "Cohort has none"),
            ("[objective]\nkl_coef = 0.1\n", "objective.beta"),
            (
                "[objective]\nuse_expert_completion = true\n",
                "Cohort's name for it is objective.use_demonstrations",
            ),
        ]:
            with self.subTest(text):
                self.refused(run("train", self.write("recipe.toml", text)), part)
        self.refused(
            run("sft", self.write("recipe.toml", "per_device_train_batch_size = 4")),
            "train.sequences_per_step",
        )

    def test_a_short_flag_never_reaches_another_section(self):
        self.refused(
            self.train(self.texts, "--lr", "1e-3"),
            "--lr is ambiguous: write --optimizer.learning_rate or --critic.lr",
        )
        self.assertEqual(self.train(self.texts, "--learning-rate", "1e-3").returncode, 0)

    def test_every_name_of_another_tool_leads_to_a_key_of_some_command(self):
        keys = set()
        for command in ("train", "sft", "dpo", "reward-train", "eval", "sample"):
            text = self.cohort(command, "--help").stdout
            keys |= {
                line.split()[0].removeprefix("--") for line in text.split("\n") if line.startswith("  --")
            }
        source = (cli_case.ROOT / "cohort" / "core" / "peer_keys.cpp").read_text()
        table = source[source.index("kPeerKeys[] = {") : source.index("kPeerSections[]")]
        named = [entry.split('"')[3] for entry in table.split("\n") if entry.count('"') >= 4]
        self.assertGreater(len(named), 100)
        for entry in named:
            for key in entry.split():
                self.assertIn(key, keys)


class DataFileTest(InputTest):
    def test_other_formats_are_named_with_the_way_out(self):
        row = '{"prompt": "1+1=", "answer": "2"}'
        for name, content, parts in [
            ("t.csv", "prompt,answer\n1+1=,2\n", ["a CSV file", "read_csv"]),
            ("t.json", f"[\n  {row}\n]\n", ["one JSON list", "jq -c '.[]'"]),
            ("t1.json", f"[{row}]", ["one JSON list"]),
            ("t2.json", json.dumps(json.loads(row), indent=2) + "\n", ["JSON over several lines"]),
            ("t.arrow", b"\xff\xff\xff\xff\x60\x00\x00\x00", ["an Arrow file"]),
            ("t.feather", b"ARROW1\x00\x00", ["an Arrow file"]),
            ("u.jsonl", (row + "\n").encode("utf-16"), ["UTF-16 text", "iconv"]),
            ("t.parquet", b"PAR1....PAR1", ["a Parquet file", "read_parquet"]),
            ("t.xlsx", b"PK\x03\x04....", ["an Excel file"]),
            (
                "t.jsonl",
                "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
                ["Git LFS pointer"],
            ),
        ]:
            path = self.write(name, content)
            for result in (self.train(path), run("data", "check", path)):
                with self.subTest(name):
                    self.refused(result, f"{path}: is ", *parts)

    def test_check_refuses_what_holds_no_rows(self):
        for content in ("", "\n \n"):
            self.refused(
                run("data", "check", self.write("empty.jsonl", content)), "empty.jsonl: holds no rows"
            )

    def test_columns_inside_columns(self):
        rows = [{"q": f"{i}+1", "reward_model": {"ground_truth": str(i + 1)}} for i in range(2)]
        path = write_lines(self.place / "verl.jsonl", rows)
        flags = ("--columns", "prompt=q", "--columns", "answer=reward_model.ground_truth")
        self.assertEqual(self.prompts_of(self.train(path, *flags)), {"0+1", "1+1"})
        self.cohort("data", "check", path, "--model", self.model, *flags)
        self.refused(
            self.train(path, "--columns", "prompt=q", "--columns", "answer=reward_model.gold"),
            f'{path}:1: the column "reward_model.gold" is missing',
        )


class ChatSettingsTest(InputTest):
    def test_a_run_has_its_own_variables_system_prompt_and_template(self):
        data = self.conversations()
        self.assertIn("user: 0+1\nassistant: ", self.prompts_of(self.train(data, model=self.chat)))
        for flag in ("--data.chat_template_kwargs", "--chat-template-kwargs"):
            result = self.train(data, flag, "enable_thinking=false", model=self.chat)
            self.assertIn("!user: 0+1\nassistant: ", self.prompts_of(result))
        result = self.train(data, "--data.system_prompt", "Think.", model=self.chat)
        self.assertIn("system: Think.\nuser: 0+1\nassistant: ", self.prompts_of(result))
        plain = self.train(self.texts, "--data.chat_template_kwargs", "enable_thinking=false")
        self.assertIn("data.chat_template_kwargs has no effect", plain.stderr)
        plain = self.train(self.texts, "--data.system_prompt", "Think.")
        self.assertIn("Think.\n\n2 + 3 =", self.prompts_of(plain))
        other = self.write("x.jinja", "{{ messages[0].content }} =>")
        result = self.train(data, "--model.chat_template", other)
        self.assertIn("0+1 =>", self.prompts_of(result))
        final = self.place / "run" / "final" / "chat_template.jinja"
        self.assertEqual(final.read_text(), other.read_text())
        self.refused(
            self.train(self.texts, "--model.chat_template", self.place / "none.jinja"), "none.jinja", "exist"
        )

    def test_commands_take_the_same_keys(self):
        data = self.conversations()
        other = self.write("x.jinja", "{% for m in messages %}[{{ m.content }}]{% endfor %}{{ v }}")
        flags = ("--chat-template", other, "--system-prompt", "s", "--chat-template-kwargs", "v=7")
        text = self.place / "texts.jsonl"
        write_lines(text, [{"text": "[s][0+1]7"}])
        ids = json.loads(self.cohort("tokenize", "--model", self.model, stdin=text.read_text()).stdout)["ids"]
        self.assertEqual(self.sample(*flags, prompts=data, generations=1)[0]["prompt_ids"], ids)
        self.cohort("data", "check", data, "--model", self.model, *flags)
        self.cohort(
            *("eval", "--model", self.model, "--input", data, "--output", self.place / "eval.json"),
            *("--reward", "format", "--max-completion-length", 2, *flags),
        )

    def test_content_in_parts(self):
        def rows(*parts):
            return write_lines(
                self.place / "parts.jsonl", [{"prompt": [{"role": "user", "content": list(parts)}]}] * 2
            )

        text, image = {"type": "text", "text": "1+1?"}, {"type": "image_url", "image_url": {"url": "x"}}
        result = self.train(rows(text), model=self.chat)
        self.assertEqual(self.prompts_of(result), {"user: 1+1?\nassistant: "})
        self.refused(self.train(rows(text, image), model=self.chat), "parts.jsonl:1: ", '"image_url"')


class ModelFileTest(InputTest):
    POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 100\n"

    def test_lfs_pointers_are_named(self):
        for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
            with self.subTest(name):
                model = self.place / "pointer"
                shutil.rmtree(model, ignore_errors=True)
                shutil.copytree(self.model, model)
                (model / name).write_text(self.POINTER)
                self.refused(run("info", model), f"{model / name}: is a Git LFS pointer")
        (self.chat / "chat_template.jinja").write_text(self.POINTER)
        self.refused(
            self.train(self.conversations(), model=self.chat), "chat_template.jinja: is a Git LFS pointer"
        )

    def with_config(self, **changes):
        model = self.place / "changed"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(self.model, model)
        (model / "config.json").write_text(json.dumps(cli_case.CONFIG | changes))
        return model

    def test_absurd_sizes_name_the_key(self):
        place = ("--tokenizer", self.tokenizer, "--output", self.place / "new")
        for key, value in [
            ("head_dim", 2147483648),
            ("head_dim", -4),
            ("vocab_size", 2**31 - 1),
            ("hidden_size", 2**40),
            ("intermediate_size", 0),
            ("rms_norm_eps", -1e-6),
            ("model_type", "llama"),
        ]:
            with self.subTest(key=key, value=value):
                model = self.with_config(**{key: value})
                for result in (
                    self.train(self.texts, model=model),
                    run("sample", "--model", model, "--input", self.texts, "--output", self.place / "out"),
                    run("init", "--config", model / "config.json", *place),
                ):
                    self.refused(result, "config.json: ", f'"{key}"')
        # Within the bounds, and yet more than any machine has.
        huge = self.with_config(vocab_size=2**24, hidden_size=2**20, head_dim=128)
        self.refused(self.train(self.texts, model=huge), "config.json asks for")
        result = run("init", "--config", huge / "config.json", *place)
        self.refused(result, "memory")

    def test_a_pre_tokenizer_that_gives_up_is_named(self):
        model = self.place / "explodes"
        shutil.copytree(self.model, model)
        path = model / "tokenizer.json"
        tokenizer = json.loads(path.read_text())
        split = {
            "type": "Split",
            "pattern": {"Regex": "(a+)+b"},
            "behavior": "Isolated",
            "invert": False,
        }
        tokenizer["pre_tokenizer"] = {
            "type": "Sequence",
            "pretokenizers": [split, tokenizer["pre_tokenizer"]],
        }
        path.write_text(json.dumps(tokenizer))
        rows = write_lines(self.place / "a.jsonl", [{"prompt": "a" * 5000 + "!b"}])
        self.refused(self.train(rows, model=model), "a.jsonl:1: ", "tokenizer.json: ")


class SftTurnsTest(InputTest):
    def test_every_turn_of_the_assistant_is_learnt(self):
        turns = [("user", "q"), ("assistant", "a"), ("user", "r"), ("assistant", "b")]
        rows = [{"messages": [{"role": role, "content": text} for role, text in turns]}] * 2
        data = write_lines(self.place / "turns.jsonl", rows)
        losses = []
        for flags in ((), ("--assistant-only-loss",)):
            result = self.train(data, *flags, model=self.chat, recipe=SFT_RECIPE, command="sft")
            self.assertEqual(result.returncode, 0, result.stderr)
            losses.append(read_lines(self.place / "run" / "metrics.jsonl")[0]["loss"])
        self.assertNotEqual(losses[0], losses[1])
        # The mean over the tokens of both turns, by the model's own log-probabilities.
        texts = ["user: q\nassistant: ", "a\n", "user: r\nassistant: ", "b\n"]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in ["".join(texts)])
        ids = json.loads(self.cohort("tokenize", "--model", self.model, "--offsets", stdin=lines).stdout)
        starts = [sum(map(len, texts[:i])) for i in range(5)]
        learnt = [
            any(begin < starts[i + 1] and starts[i] < end for i in (1, 3)) for begin, end in ids["offsets"]
        ]
        row = {"prompt_ids": ids["ids"][:1], "completion_ids": ids["ids"][1:]}
        logprobs = self.score([row], "--dtype", "float32")[0]
        wanted = [-value for value, is_learnt in zip(logprobs, learnt[1:]) if is_learnt]
        self.assertAlmostEqual(losses[1], sum(wanted) / len(wanted), places=4)

    def test_plain_rows_are_refused(self):
        data = write_lines(self.place / "plain.jsonl", [{"prompt": "a", "completion": "b"}] * 2)
        self.refused(
            self.train(data, "--assistant-only-loss", recipe=SFT_RECIPE, command="sft"),
            "plain.jsonl:1: train.assistant_only_loss needs conversations",
        )


if __name__ == "__main__":
    unittest.main()
