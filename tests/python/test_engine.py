"""cohort.Engine against the program, transformers, and itself.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_engine.py
"""

import json
import unittest

import torch
import transformers
from engine_model import PROMPTS, EngineTest, columns, flat
from tiny_run import cohort

import cohort as package
from cohort import objectives


def reference_logprobs(model, group):
    """[T] log-probabilities and entropies of each completion, by transformers, with gradient."""
    result = []
    for completion in group.completions:
        ids = torch.tensor([group.prompt_ids + completion.token_ids])
        rows = model(ids).logits[0, len(group.prompt_ids) - 1 : -1].float() / group.temperature
        logprobs = rows.log_softmax(-1)
        taken = logprobs.gather(1, torch.tensor(completion.token_ids)[:, None])[:, 0]
        result.append((taken, -(logprobs.exp() * logprobs).sum(-1)))
    return result


class SamplingTest(EngineTest):
    def test_completions_are_those_of_the_program(self):
        rows, output = self.folder / "rows.jsonl", self.folder / "completions.jsonl"
        rows.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in PROMPTS))
        flags = ["--num_generations=2", "--max_completion_length=12", "--seed=7", "--top_k=20"]
        cohort("sample", "--model", self.model, "--input", rows, "--output", output, *flags)
        groups = self.load(seed=7).generate(
            PROMPTS, package.SamplingParams(n=2, max_tokens=12, top_k=20), step=0
        )
        written = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual([row["completion_ids"] for row in written], columns(groups, "token_ids"))
        self.assertEqual([row["text"] for row in written], columns(groups, "text"))
        self.assertEqual([row["finish_reason"] for row in written], columns(groups, "finish_reason"))
        for row, logprobs in zip(written, columns(groups, "logprobs")):
            self.assertTrue(torch.equal(torch.tensor(row["logprobs"]), logprobs))

    def test_addresses(self):
        engine = self.load()
        params = package.SamplingParams(n=2, max_tokens=8)
        first, second = engine.generate(PROMPTS, params), engine.generate(PROMPTS, params)
        self.assertNotEqual(columns(first, "token_ids"), columns(second, "token_ids"))
        again = engine.generate(PROMPTS, params, step=1)
        self.assertEqual(columns(first, "token_ids"), columns(again, "token_ids"))
        other = engine.generate(PROMPTS, params, step=1, seed=5)
        self.assertNotEqual(columns(first, "token_ids"), columns(other, "token_ids"))
        alone = engine.generate(PROMPTS[:1], params, step=1, num_generations=1)
        self.assertEqual(alone[0].completions[0].token_ids, first[0].completions[0].token_ids)

    def test_forms_of_prompts(self):
        engine = self.load()
        message = [{"role": "user", "content": "12 + 7"}]
        ids = engine.tokenizer.apply_chat_template(message, add_generation_prompt=True)
        params = package.SamplingParams(max_tokens=4, temperature=0)
        prompts = [message, ids, torch.tensor(ids), "text"]
        groups = engine.generate(prompts, params)
        self.assertEqual([group.prompt_ids for group in groups[:3]], [ids] * 3)
        self.assertEqual(groups[3].prompt_ids, engine.tokenizer.encode("text"))
        self.assertEqual({tuple(g.completions[0].token_ids) for g in groups[:3]}.__len__(), 1)
        self.assertEqual([group.temperature for group in groups], [1.0] * 4)
        self.assertEqual(engine.generate([], params), [])

    def test_forms_of_the_output(self):
        engine = self.load()

        def texts(**form):
            params = package.SamplingParams(n=6, max_tokens=30, structured_outputs=form)
            return [c.text for group in engine.generate(["12 + 7 ="], params) for c in group.completions]

        for text in texts(regex=r"\d{2,4} (men|women)"):
            self.assertRegex(text, r"^\d{2,4} (men|women)$")
        self.assertLessEqual(set(texts(choice=["yes", "no, never"])), {"yes", "no, never"})
        schema = {"type": "object", "properties": {"a": {"enum": [1, "b"]}}, "required": ["a"]}
        for text in texts(json=schema):
            self.assertIn(json.loads(text)["a"], [1, "b"])

    def test_tokenizer(self):
        ours = self.load().tokenizer
        theirs = transformers.AutoTokenizer.from_pretrained(self.model)
        for text in ["12 + 7 = 19", "Grüße, 世界 🎈", ""]:
            self.assertEqual(ours.encode(text), theirs.encode(text))
            self.assertEqual(ours.decode(ours.encode(text)), theirs.decode(theirs.encode(text)))
        conversation = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        self.assertEqual(
            ours.apply_chat_template(conversation, tokenize=False),
            theirs.apply_chat_template(conversation, tokenize=False),
        )
        self.assertEqual(ours.eos_token_id, theirs.eos_token_id)


class ScoringTest(EngineTest):
    def test_the_trainer_computes_what_the_sampler_did(self):
        for dtype in ["float32", "bfloat16"]:
            engine = self.load(dtype=dtype)
            self.assertEqual(engine.sampler_trainer_difference(), 0.0)
            for params in [
                {},
                {"temperature": 0.7, "top_p": 0.8},
                {"top_k": 5, "min_p": 0.1, "min_tokens": 3},
                {"structured_outputs": {"regex": r"\d+( [-+] \d+)*"}},
            ]:
                groups = self.rollout(engine, **params)
                for logprobs, sampled in zip(flat(engine.logprobs(groups)), columns(groups, "logprobs")):
                    self.assertTrue(torch.equal(logprobs, sampled), (dtype, params))

    def test_against_transformers(self):
        engine = self.load()
        groups = self.rollout(engine, temperature=0.8)
        model = transformers.AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)
        with torch.no_grad():
            wanted = [row for group in groups for row in reference_logprobs(model, group)]
        for ours, (theirs, _) in zip(flat(engine.logprobs(groups)), wanted):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)
        for ours, (_, theirs) in zip(flat(engine.entropies(groups)), wanted):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)

    def test_snapshots_stay(self):
        engine = self.load()
        groups = self.rollout(engine)
        snapshot, before = engine.snapshot(), flat(engine.logprobs(groups))
        engine.forward_backward(groups)
        engine.optim_step(lr=1e-2)
        for kept, old, new in zip(flat(snapshot.logprobs(groups)), before, flat(engine.logprobs(groups))):
            self.assertTrue(torch.equal(kept, old))
            self.assertFalse(torch.equal(new, old))
        del engine
        self.assertTrue(torch.equal(flat(snapshot.logprobs(groups))[0], before[0]))


class UpdateTest(EngineTest):
    def check_gradient(self, groups, loss, **objective):
        """Loss and gradient norm against transformers' logits under objectives.loss()."""
        engine = self.load(optimizer={"max_grad_norm": 0.0})
        metrics = engine.forward_backward(groups, loss, **objective)
        metrics |= engine.optim_step(lr=1e-3)
        model = transformers.AutoModelForCausalLM.from_pretrained(self.model, dtype=torch.float32)
        pad = lambda rows: torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        policy = pad([row for group in groups for row, _ in reference_logprobs(model, group)])
        masks = [c.mask or [1] * len(c.token_ids) for g in groups for c in g.completions]
        advantages = columns(groups, "advantage")
        rows = [torch.as_tensor(a).float() * torch.ones(len(m)) for a, m in zip(advantages, masks)]
        old = pad([torch.as_tensor(row) for row in columns(groups, "old_logprobs")])
        value, _ = objectives.loss(
            policy,
            pad([torch.tensor(m) for m in masks]),
            pad(rows),
            old_logprobs=old,
            preset=loss,
            **objective,
        )
        value.backward()
        norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item()
        self.assertAlmostEqual(metrics["loss"], value.item(), delta=1e-5)
        self.assertAlmostEqual(metrics["grad_norm"] / norm, 1.0, delta=1e-4)
        self.assertGreater(norm, 1e-3)

    def batch(self):
        """Completions of another policy, some tokens of which were not sampled."""
        groups = self.rollout(self.load(), ignore_eos=True)
        for i, completion in enumerate(c for group in groups for c in group.completions):
            drift = 0.3 * torch.sin(torch.arange(12.0) + i)
            completion.old_logprobs = completion.logprobs + drift
        return groups

    def test_gradient_against_transformers(self):
        groups = self.batch()
        self.check_gradient(groups, "grpo")
        self.check_gradient(groups, "dapo", epsilon=0.1, epsilon_high=0.4)
        self.check_gradient(groups, "gspo")
        for completion in (c for group in groups for c in group.completions):
            completion.advantage = [completion.advantage * (0.5 + 0.1 * t) for t in range(12)]
            completion.mask = [1] * 4 + [0] * 3 + [1] * 5
        self.check_gradient(groups, "dapo")

    def test_gradients_add_up(self):
        groups, norms = self.batch(), []
        for repeats in (1, 2):
            engine = self.load()
            for _ in range(repeats):
                engine.forward_backward(groups)
            norms.append(engine.optim_step(lr=0.0)["grad_norm"])
        self.assertAlmostEqual(norms[1] / norms[0], 2.0, places=5)
        with self.assertRaisesRegex(RuntimeError, "no gradient"):
            engine.optim_step(lr=0.0)

    def test_micro_batches_change_no_gradient(self):
        groups, results = self.batch(), []
        for tokens in (0, 40):
            engine = self.load(tokens_per_microbatch=tokens)
            results.append(engine.forward_backward(groups, "dapo") | engine.optim_step(lr=1e-3))
        self.assertGreater(results[1]["rows/repeated_prompt"], 0)
        for name in ("loss", "grad_norm"):
            self.assertAlmostEqual(results[0][name], results[1][name], places=6)

    def test_reference(self):
        engine = self.load()
        groups = self.batch()
        reference = self.load().snapshot()
        engine.forward_backward(groups)
        engine.optim_step(lr=1e-2)
        for completion, logprobs in zip(
            (c for g in groups for c in g.completions), flat(reference.logprobs(groups))
        ):
            completion.ref_logprobs = logprobs
        self.assertGreater(engine.forward_backward(groups, beta=0.1)["kl"], 0.0)

    def test_saved_model(self):
        engine = self.load(dtype="bfloat16")
        groups = self.rollout(engine)
        engine.forward_backward(groups)
        self.assertEqual(engine.optim_step(lr=1e-2)["skipped"], 0.0)
        self.assertEqual(engine.num_updates, 1)
        engine.save(self.folder / "saved")
        again = package.Engine.load(self.folder / "saved")
        self.assertEqual(again.dtype, "bfloat16")
        for ours, theirs in zip(flat(engine.logprobs(groups)), flat(again.logprobs(groups))):
            self.assertTrue(torch.equal(ours, theirs))
        transformers.AutoModelForCausalLM.from_pretrained(self.folder / "saved")

    def test_adapters(self):
        engine = self.load(lora={"r": 4, "alpha": 8})
        groups = self.rollout(engine)
        before = flat(engine.logprobs(groups))
        for _ in range(2):
            engine.forward_backward(groups)
            engine.optim_step(lr=1e-2)
        base = flat(engine.snapshot(adapters=False).logprobs(groups))
        after = flat(engine.logprobs(groups))
        for old, without, new in zip(before, base, after):
            self.assertTrue(torch.equal(old, without))
            self.assertFalse(torch.equal(old, new))
        engine.save(self.folder / "adapter")
        again = self.load(lora={"path": self.folder / "adapter"})
        for ours, theirs in zip(after, flat(again.logprobs(groups))):
            self.assertTrue(torch.equal(ours, theirs))

    def test_what_is_not_finite_changes_no_weight(self):
        engine = self.load()
        groups = self.rollout(engine)
        before = flat(engine.logprobs(groups))
        for completion in (c for g in groups for c in g.completions):
            completion.advantage, completion.old_logprobs = -1e38, completion.logprobs - 15.0
        engine.forward_backward(groups)
        result = engine.optim_step(lr=1e-2)
        self.assertEqual(result["skipped"], 1.0)
        self.assertTrue(torch.equal(flat(engine.logprobs(groups))[0], before[0]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
