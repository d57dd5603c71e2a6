"""`cohort serve` from outside: the endpoints' bodies, streams and errors.

COHORT=build/cohort python3 tests/cli/test_serve.py
"""

import json
import pathlib
import tempfile
import unittest

from chain_model import CONTEXT, make_chain_model
from cli_case import run
from serve_case import Server

USER = [{"role": "user", "content": "hi"}]
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
    },
}


def setUpModule():
    folder = tempfile.TemporaryDirectory(prefix="cohort-serve-")
    unittest.addModuleCleanup(folder.cleanup)
    ServeTest.folder = pathlib.Path(folder.name)
    ServeTest.model = make_chain_model(ServeTest.folder / "chain")
    ServeTest.server = Server(ServeTest.model)
    unittest.addModuleCleanup(ServeTest.server.__exit__)


class ServeTest(unittest.TestCase):
    maxDiff = None

    def must_post(self, path, body):
        status, answer = self.server.post(path, body)
        self.assertEqual(status, 200, answer)
        return answer

    def must_refuse(self, path, body, part, status=400):
        found, answer = self.server.post(path, body)
        self.assertEqual(found, status, answer)
        message = answer["error"]["message"]
        self.assertIn(part, message)
        self.assertNotIn("\n", message)
        return answer


class ChatCompletionsTest(ServeTest):
    def test_a_text(self):
        answer = self.must_post(
            "/v1/chat/completions", {"messages": USER, "model": "chain", "max_tokens": 20}
        )
        self.assertEqual(answer["object"], "chat.completion")
        (choice,) = answer["choices"]
        self.assertEqual(choice["message"]["content"], "Hello, world!")
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertEqual(answer["usage"]["completion_tokens"], 5)

    def test_calls_of_tools_and_reasoning(self):
        answer = self.must_post("/v1/chat/completions", {"messages": USER, "tools": [ADD]})
        (choice,) = answer["choices"]
        message = choice["message"]
        self.assertIsNone(message["content"])
        self.assertEqual(message["reasoning_content"], "I add them.")
        self.assertEqual(choice["finish_reason"], "tool_calls")
        calls = message["tool_calls"]
        self.assertEqual(
            [json.loads(c["function"]["arguments"]) for c in calls], [{"a": 2, "b": 3}, {"a": 1, "b": 4}]
        )
        self.assertEqual(len({c["id"] for c in calls}), 2)
        # The results of the calls, in the conversation that the client sends back.
        messages = [
            *USER,
            message,
            *({"role": "tool", "tool_call_id": c["id"], "content": "5"} for c in calls),
        ]
        answer = self.must_post("/v1/chat/completions", {"messages": messages, "tools": [ADD]})
        self.assertEqual(answer["choices"][0]["message"]["content"], "The sum is 5.")

    def test_one_call_if_parallel_ones_are_not_wanted(self):
        body = {"messages": USER, "tools": [ADD], "parallel_tool_calls": False}
        self.assertEqual(
            len(self.must_post("/v1/chat/completions", body)["choices"][0]["message"]["tool_calls"]), 1
        )

    def test_without_tools_to_call_none_is_read(self):
        body = {"messages": USER, "tools": [ADD], "tool_choice": "none"}
        message = self.must_post("/v1/chat/completions", body)["choices"][0]["message"]
        self.assertEqual(message["content"], "Hello, world!")
        self.assertNotIn("tool_calls", message)

    def test_a_stream_has_the_same_parts(self):
        for tools in ([], [ADD]):
            body = {"messages": USER, "tools": tools, "seed": 3}
            whole = self.must_post("/v1/chat/completions", body)
            events = self.server.events(
                "/v1/chat/completions", body | {"stream_options": {"include_usage": True}}
            )
            self.assertEqual(events[0]["choices"][0]["delta"]["role"], "assistant")
            deltas = [e["choices"][0]["delta"] for e in events if e["choices"]]
            message = whole["choices"][0]["message"]
            self.assertEqual("".join(d.get("content", "") for d in deltas), message["content"] or "")
            self.assertEqual(
                "".join(d.get("reasoning_content", "") for d in deltas), message.get("reasoning_content", "")
            )
            calls = [c["function"] for d in deltas for c in d.get("tool_calls", [])]
            self.assertEqual(calls, [c["function"] for c in message.get("tool_calls", [])])
            self.assertEqual(events[-2]["choices"][0]["finish_reason"], whole["choices"][0]["finish_reason"])
            self.assertEqual(events[-1]["usage"], whole["usage"])
        self.assertGreater(len([d for d in deltas if d.get("reasoning_content")]), 1)

    def test_log_probabilities_and_token_ids(self):
        body = {"messages": USER, "logprobs": True, "top_logprobs": 2, "return_token_ids": True}
        whole = self.must_post("/v1/chat/completions", body)
        choice = whole["choices"][0]
        content = choice["logprobs"]["content"]
        self.assertEqual(
            [entry["token"] for entry in content], ["Hello", ", ", "world", "!", "<|endoftext|>"]
        )
        for entry in content:
            self.assertEqual(bytes(entry["bytes"]).decode(), entry["token"])
            self.assertEqual(len(entry["top_logprobs"]), 2)
            self.assertEqual(entry["top_logprobs"][0]["token"], entry["token"])
            self.assertAlmostEqual(entry["logprob"], 0.0, places=5)
        self.assertEqual(len(choice["token_ids"]), 5)
        self.assertEqual(len(whole["prompt_token_ids"]), whole["usage"]["prompt_tokens"])
        events = self.server.events("/v1/chat/completions", body)
        entries = [e["choices"][0] for e in events]
        self.assertEqual([i for e in entries for i in e.get("token_ids", [])], choice["token_ids"])
        self.assertEqual([c for e in entries if e["logprobs"] for c in e["logprobs"]["content"]], content)
        self.assertEqual(
            [e["prompt_token_ids"] for e in events if "prompt_token_ids" in e], [whole["prompt_token_ids"]]
        )

    def test_several_choices_and_a_seed(self):
        body = {
            "messages": USER,
            "n": 3,
            "temperature": 60.0,
            "max_tokens": 8,
            "return_token_ids": True,
            "seed": 7,
        }
        first = self.must_post("/v1/chat/completions", body)
        ids = [choice["token_ids"] for choice in first["choices"]]
        self.assertEqual(len({tuple(i) for i in ids}), 3)
        self.must_post("/v1/chat/completions", {"messages": USER})
        again = self.must_post("/v1/chat/completions", body)
        self.assertEqual([choice["token_ids"] for choice in again["choices"]], ids)
        other = self.must_post("/v1/chat/completions", body | {"seed": 8})
        self.assertNotEqual([choice["token_ids"] for choice in other["choices"]], ids)

    def test_stop_strings_and_lengths(self):
        for options, content, reason in (
            ({"stop": "wor"}, "Hello, ", "stop"),
            ({"stop": ["x", ", "]}, "Hello", "stop"),
            ({"max_completion_tokens": 2}, "Hello, ", "length"),
        ):
            body = {"messages": USER} | options
            choice = self.must_post("/v1/chat/completions", body)["choices"][0]
            # The white space at the end of a turn is left out, as chat templates do.
            self.assertEqual(choice["message"]["content"].rstrip(), content.rstrip())
            self.assertEqual(choice["finish_reason"], reason)
            events = self.server.events("/v1/chat/completions", body)
            streamed = "".join(e["choices"][0]["delta"].get("content", "") for e in events)
            self.assertEqual(streamed, choice["message"]["content"])

    def test_contents_of_parts_and_developer_messages(self):
        messages = [
            {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            *USER,
        ]
        body = {"messages": messages, "return_token_ids": True}
        same = {"messages": [{"role": "system", "content": "a\nb"}, *USER], "return_token_ids": True}
        self.assertEqual(
            self.must_post("/v1/chat/completions", body)["prompt_token_ids"],
            self.must_post("/v1/chat/completions", same)["prompt_token_ids"],
        )

    def test_refusals_name_the_field(self):
        for body, part in (
            ({}, '"messages" is missing'),
            ({"messages": []}, '"messages" must be a list'),
            ({"messages": [{"role": "robot", "content": "a"}]}, 'unknown role "robot"'),
            ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "image_url"),
            ({"messages": USER, "temperature": -1}, '"temperature" must be a number from 0'),
            ({"messages": USER, "n": 0}, '"n" must be an integer from 1'),
            ({"messages": USER, "max_tokens": CONTEXT}, "model's context"),
            ({"messages": USER, "temprature": 1}, 'did you mean "temperature"'),
            ({"messages": USER, "top_logprobs": 2}, '"logprobs": true'),
            ({"messages": USER, "tools": [{"name": "a"}]}, '"tools"'),
            ({"messages": USER, "tool_choice": "required"}, "there are no tools"),
            ({"messages": USER, "tool_choice": {"type": "any"}, "tools": [ADD]}, '"tool_choice"'),
            ({"messages": USER, "response_format": {"type": "yaml"}}, '"response_format": the type "yaml"'),
            (
                {"messages": USER, "response_format": {"type": "json_schema", "schema": {"not": {}}}},
                '"response_format": the schema: "not"',
            ),
            ({"messages": USER, "structured_outputs": {"regex": "(a"}}, "byte 3: a group has no end"),
            ({"messages": USER, "structured_outputs": {"grammar": "a"}}, '"grammar" is not supported'),
            ({"messages": USER, "logit_bias": {"9999999": 1}}, "9999999"),
            ({"messages": USER, "stop": [""]}, '"stop"'),
            ([], "JSON object"),
        ):
            self.must_refuse("/v1/chat/completions", body, part)
        self.must_refuse("/v1/chat/completions", {"messages": USER, "model": "gpt"}, '"chain"', status=404)
        self.must_refuse("/v1/chats", {}, "/v1/chat/completions", status=404)


class OtherEndpointsTest(ServeTest):
    def test_messages(self):
        tools = [{"name": "add", "description": "Adds.", "input_schema": ADD["function"]["parameters"]}]
        body = {"model": "chain", "max_tokens": 100, "messages": USER, "tools": tools, "system": "Be brief."}
        answer = self.must_post("/v1/messages", body)
        self.assertEqual([b["type"] for b in answer["content"]], ["thinking", "tool_use", "tool_use"])
        self.assertEqual(answer["content"][1]["input"], {"a": 2, "b": 3})
        self.assertEqual(answer["stop_reason"], "tool_use")
        results = [
            {"type": "tool_result", "tool_use_id": b["id"], "content": [{"type": "text", "text": "5"}]}
            for b in answer["content"][1:]
        ]
        messages = [
            *USER,
            {"role": "assistant", "content": answer["content"]},
            {"role": "user", "content": results},
        ]
        answer = self.must_post("/v1/messages", body | {"messages": messages})
        self.assertEqual(answer["content"], [{"type": "text", "text": "The sum is 5."}])
        self.assertEqual(answer["stop_reason"], "end_turn")
        answer = self.must_post(
            "/v1/messages", {"max_tokens": 9, "messages": USER, "stop_sequences": ["wor"]}
        )
        self.assertEqual((answer["stop_reason"], answer["stop_sequence"]), ("stop_sequence", "wor"))
        refused = self.must_refuse("/v1/messages", {"messages": USER}, '"max_tokens" is missing')
        self.assertEqual(refused["type"], "error")

    def test_messages_in_a_stream(self):
        events = self.server.events("/v1/messages", {"max_tokens": 100, "messages": USER})
        self.assertEqual(
            [e["type"] for e in events if e["type"] != "content_block_delta"],
            ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"],
        )
        tools = [{"name": "add", "input_schema": ADD["function"]["parameters"]}]
        calls = self.server.events("/v1/messages", {"max_tokens": 100, "messages": USER, "tools": tools})
        blocks = [(e["type"][14:], e["index"]) for e in calls if e["type"].startswith("content_block")]
        self.assertEqual(blocks[-6:], [(part, i) for i in (1, 2) for part in ("start", "delta", "stop")])
        texts = [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"]
        self.assertEqual(texts, ["Hello", ",", " world", "!"])

    def test_responses(self):
        tools = [{"type": "function", **ADD["function"]}]
        body = {"input": "hi", "instructions": "Be brief.", "tools": tools}
        answer = self.must_post("/v1/responses", body)
        self.assertEqual(
            [i["type"] for i in answer["output"]], ["reasoning", "function_call", "function_call"]
        )
        outputs = [
            {"type": "function_call_output", "call_id": i["call_id"], "output": "5"}
            for i in answer["output"][1:]
        ]
        answer = self.must_post(
            "/v1/responses",
            body | {"input": [{"role": "user", "content": "hi"}, *answer["output"], *outputs]},
        )
        self.assertEqual(answer["output"][0]["content"][0]["text"], "The sum is 5.")
        self.assertEqual(answer["status"], "completed")
        events = self.server.events("/v1/responses", body)
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        self.assertEqual(
            [i["type"] for i in events[-1]["response"]["output"]], ["reasoning"] + 2 * ["function_call"]
        )
        done = [e["item"]["type"] for e in events if e["type"] == "response.output_item.done"]
        self.assertEqual(done, ["reasoning", "function_call", "function_call"])
        answer = self.must_post("/v1/responses", {"input": "hi", "max_output_tokens": 1})
        self.assertEqual(answer["incomplete_details"], {"reason": "max_output_tokens"})
        self.must_refuse("/v1/responses", {"input": "hi", "previous_response_id": "a"}, "not stored")

    def test_models_health_and_metrics(self):
        self.assertEqual(self.server.request("GET", "/health")[0], 200)
        (card,) = self.server.request("GET", "/v1/models")[1]["data"]
        self.assertEqual((card["id"], card["max_model_len"]), ("chain", CONTEXT))
        self.assertEqual(self.server.request("GET", "/v1/models/chain")[1], card)
        status, text = self.server.request("GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertIn("cohort_requests_running 0\n", text)

    def test_an_api_key(self):
        with Server(self.model, "--api-key", "secret") as server:
            self.assertEqual(server.request("GET", "/health")[0], 200)
            self.assertEqual(server.request("GET", "/v1/models")[0], 401)
            for headers in ({"Authorization": "Bearer secret"}, {"x-api-key": "secret"}):
                self.assertEqual(server.request("GET", "/v1/models", headers=headers)[0], 200)
        refused = run("serve", "--model", self.model, "--host", "0.0.0.0", "--port", "0")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--api-key", refused.stderr)
        taken = run("serve", "--model", self.model, "--port", str(self.server.port))
        self.assertEqual(taken.returncode, 2)
        self.assertIn("choose another", taken.stderr)


if __name__ == "__main__":
    unittest.main()
