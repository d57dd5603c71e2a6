"""A tiny model with an Engine on it, for tests of cohort.Engine; COHORT is the program."""

import json
import pathlib
import tempfile
import unittest

from tiny_run import CONFIG, ROOT, cohort

import cohort as package

TEMPLATE = """{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}
{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
PROMPTS = ["12 + 7 =", "A word: ", "Numbers 3, 4, 5 and"]


class EngineTest(unittest.TestCase):
    """Gives its tests `model`, the directory of a Llama with random weights, and Engines of it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        config = json.loads(CONFIG) | {"model_type": "llama", "rms_norm_eps": 1e-6, "rope_theta": 10000.0}
        (cls.folder / "config.json").write_text(json.dumps(config))
        cls.model = cls.folder / "model"
        flags = ["--config", cls.folder / "config.json", "--tokenizer", ROOT / "recipes/demo"]
        cohort("init", *flags, "--seed", 3, "--output", cls.model)
        (cls.model / "chat_template.jinja").write_text(TEMPLATE)

    def load(self, **options):
        return package.Engine.load(self.model, **{"dtype": "float32", **options})

    def rollout(self, engine, advantages=(1.0, -0.5, 0.25), **params):
        """A group for each of PROMPTS, of completions with these advantages."""
        keys = {"n": len(advantages), "max_tokens": 12, **params}
        groups = engine.generate(PROMPTS, package.SamplingParams(**keys), step=1)
        for group in groups:
            for completion, advantage in zip(group.completions, advantages):
                completion.advantage = advantage
        return groups


def columns(groups, name):
    return [getattr(completion, name) for group in groups for completion in group.completions]


def flat(nested):
    return [value for group in nested for value in group]
