"""What the trainers import of transformers, in processes of their own.

PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_imports.py
"""

import os
import subprocess
import sys
import unittest

HEAVY = ("peft", "sympy", "torch._dynamo", "torch.distributed.tensor", "transformers.modeling_utils")
CONFIG = """
import sys
{before}
from cohort import GRPOConfig, GRPOTrainer
args = GRPOConfig("out", report_to="none", bf16=False)
print(args.report_to, *(name for name in {heavy} if name in sys.modules))
"""
MODEL = """
from cohort import GRPOConfig
from transformers import LlamaConfig, LlamaForCausalLM, trainer_utils

sizes = {"vocab_size": 8, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
model = LlamaForCausalLM(LlamaConfig(**sizes))
assert not trainer_utils._is_peft_model(model)
from peft import LoraConfig, PeftMixedModel, get_peft_model

assert not trainer_utils._is_peft_model(model)
adapted = get_peft_model(model, LoraConfig())
assert trainer_utils._is_peft_model(adapted)
assert trainer_utils.unwrap_peft_model(adapted) is model
assert isinstance(adapted, trainer_utils.PeftModel) and not isinstance(adapted, trainer_utils.PeftMixedModel)
mixed = PeftMixedModel(model, LoraConfig())
assert trainer_utils._is_peft_model(mixed) and isinstance(mixed, trainer_utils.PeftMixedModel)
import transformers.utils

assert transformers.utils.is_peft_available() and trainer_utils.is_peft_available()
"""


def run(code, **environment):
    """What a new process prints; AssertionError with its errors if it fails."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


class ImportsTest(unittest.TestCase):
    def test_settings_and_trainer_need_no_model_code(self):
        self.assertEqual(run(CONFIG.format(before="", heavy=HEAVY)), "[]")

    def test_what_is_imported_already_stays(self):
        code = CONFIG.format(
            before="import peft, transformers.integrations.integration_utils", heavy=("peft",)
        )
        self.assertEqual(run(code), "[] peft")

    def test_transformers_knows_models_of_peft(self):
        self.assertEqual(run(MODEL), "")

    def test_kubeflow_is_seen_by_its_variables(self):
        code = CONFIG.format(before="", heavy=())
        url = {"KUBEFLOW_TRAINER_SERVER_URL": "https://localhost"}
        self.assertEqual(run(code, **url), "['kubeflow']")
        self.assertEqual(run(code, DISABLE_KUBEFLOW_INTEGRATION="true", **url), "[]")


if __name__ == "__main__":
    unittest.main()
