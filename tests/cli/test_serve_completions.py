"""`cohort serve` from outside: completions of texts and token ids.

COHORT=build/cohort python3 tests/cli/test_serve_completions.py
"""

import unittest

from test_serve import ServeTest, setUpModule  # noqa: F401


class CompletionsTest(ServeTest):
    def test_a_text_and_lists_of_prompts(self):
        answer = self.must_post("/v1/completions", {"prompt": "[plain]"})
        self.assertEqual(answer["choices"][0]["text"], "Hello, world!")
        ids = self.must_post("/tokenize", {"prompt": "[plain]"})["tokens"]
        answer = self.must_post("/v1/completions", {"prompt": [ids, ids], "n": 2, "return_token_ids": True})
        self.assertEqual([c["text"] for c in answer["choices"]], ["Hello, world!"] * 4)
        self.assertEqual([c["prompt_token_ids"] for c in answer["choices"]], [ids] * 4)
        answer = self.must_post("/v1/completions", {"prompt": ["[plain]", "[answer]"], "max_tokens": 2})
        self.assertEqual([c["text"] for c in answer["choices"]], ["Hello, ", "The sum is"])
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")

    def test_log_probabilities_of_an_echoed_prompt(self):
        ids = self.must_post("/tokenize", {"prompt": "[plain]Hello, moon"})["tokens"]
        body = {"prompt": [ids], "echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
        choice = self.must_post("/v1/completions", body)["choices"][0]
        tokens = choice["logprobs"]
        self.assertEqual(len(tokens["tokens"]), len(ids) + 1)
        self.assertEqual("".join(tokens["tokens"]), choice["text"] + "<|endoftext|>")
        self.assertIsNone(tokens["token_logprobs"][0])
        self.assertAlmostEqual(tokens["token_logprobs"][2], 0.0, places=5)  # ", " after "Hello"
        self.assertLess(tokens["token_logprobs"][3], -10.0)  # not "moon" after it
        self.assertIn("world", tokens["top_logprobs"][3])
        self.assertEqual(tokens["text_offset"][:4], [0, 7, 12, 14])

    def test_a_stream(self):
        events = self.server.events("/v1/completions", {"prompt": "[plain]", "logprobs": 0})
        self.assertEqual("".join(e["choices"][0]["text"] for e in events), "Hello, world!")
        self.assertEqual(events[-1]["choices"][0]["finish_reason"], "stop")
        names = [
            n for e in events if e["choices"][0]["logprobs"] for n in e["choices"][0]["logprobs"]["tokens"]
        ]
        self.assertEqual(names, ["Hello", ", ", "world", "!", "<|endoftext|>"])

    def test_refusals(self):
        self.must_refuse("/v1/completions", {"prompt": []}, '"prompt" must be')
        self.must_refuse("/v1/completions", {"prompt": [[1], [99999]]}, "99999")
        self.must_refuse("/v1/completions", {"prompt": "a", "best_of": 2}, "best_of")
        self.must_refuse("/v1/completions", {"prompt": "a" * 9000}, "model's context")
        self.must_refuse("/v1/completions", {"prompt": "a" * 9_000_000}, "9000000 bytes")
        self.must_refuse("/v1/completions", {"prompt": ["a"] * 100, "n": 20}, "1024")
        huge = [{"role": "user", "content": "a" * 9_000_000}]
        self.must_refuse("/v1/chat/completions", {"messages": huge}, "9000000 bytes")

    def test_token_ids_in_and_out(self):
        ids = self.must_post("/tokenize", {"prompt": "[plain]"})["tokens"]
        body = {"model": "chain", "token_ids": ids, "sampling_params": {"logprobs": 1}, "cache_salt": "a"}
        (choice,) = self.must_post("/inference/v1/generate", body)["choices"]
        known = self.must_post("/v1/completions", {"prompt": [ids], "return_token_ids": True})["choices"][0]
        self.assertEqual(choice["token_ids"], known["token_ids"])
        names = [entry["token"] for entry in choice["logprobs"]["content"]]
        self.assertEqual(names, [f"token_id:{i}" for i in choice["token_ids"]])
        self.assertEqual(choice["finish_reason"], "stop")
        self.must_refuse("/inference/v1/generate", {"token_ids": []}, '"token_ids" must be')
        self.must_refuse("/inference/v1/generate", {"token_ids": [1], "sampling_params": {"x": 1}}, '"x"')


if __name__ == "__main__":
    unittest.main()
