"""`cohort serve` and the clients that people have: openai, anthropic and the OpenAI Agents SDK.

COHORT=build/cohort .venv-test/bin/python tests/python/test_real_clients.py
"""

import asyncio
import json
import pathlib
import sys
import tempfile
import unittest
from typing import Literal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

import anthropic
import jsonschema
import openai
import pydantic
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from chain_model import make_chain_model
from serve_case import Server

USER = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
FUNCTION = {"name": "add", "description": "Adds.", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]
FLIP = {
    "type": "object",
    "properties": {"up": {"type": "boolean"}},
    "required": ["up"],
    "additionalProperties": False,
}
SUMS = [{"a": 2, "b": 3}, {"a": 1, "b": 4}]


class RealClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cohort-clients-")
        cls.addClassCleanup(folder.cleanup)
        cls.server = Server(make_chain_model(pathlib.Path(folder.name) / "chain"))
        cls.addClassCleanup(cls.server.__exit__)
        cls.openai = openai.OpenAI(base_url=cls.server.url, api_key="none", max_retries=0)
        cls.anthropic = anthropic.Anthropic(base_url=cls.server.url[:-3], api_key="none", max_retries=0)
        cls.addClassCleanup(cls.openai.close)
        cls.addClassCleanup(cls.anthropic.close)

    def test_openai_chat(self):
        chat = self.openai.chat.completions
        self.assertEqual(self.openai.models.list().data[0].id, "chain")
        answer = chat.create(model="chain", messages=USER, logprobs=True, top_logprobs=2, n=2, seed=1)
        self.assertEqual([c.message.content for c in answer.choices], ["Hello, world!"] * 2)
        entry = answer.choices[0].logprobs.content[0]
        self.assertEqual((entry.token, entry.top_logprobs[0].token), ("Hello", "Hello"))
        self.assertEqual(answer.usage.completion_tokens, 10)
        answer = chat.create(model="chain", messages=USER, tools=TOOLS)
        calls = answer.choices[0].message.tool_calls
        self.assertEqual([json.loads(call.function.arguments) for call in calls], SUMS)
        results = [{"role": "tool", "tool_call_id": call.id, "content": "5"} for call in calls]
        answer = chat.create(
            model="chain", messages=[*USER, answer.choices[0].message, *results], tools=TOOLS
        )
        self.assertEqual(answer.choices[0].message.content, "The sum is 5.")

    def test_openai_streams(self):
        chat = self.openai.chat.completions
        chunks = list(
            chat.create(model="chain", messages=USER, stream=True, stream_options={"include_usage": True})
        )
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks[:-1]), "Hello, world!")
        self.assertEqual(chunks[-1].usage.completion_tokens, 5)
        with chat.stream(model="chain", messages=USER, tools=TOOLS) as stream:
            calls = stream.get_final_completion().choices[0].message.tool_calls
        self.assertEqual([json.loads(call.function.arguments) for call in calls], SUMS)
        text = self.openai.completions.create(model="chain", prompt="[plain]", stream=True)
        self.assertEqual("".join(chunk.choices[0].text for chunk in text), "Hello, world!")

    def test_output_of_a_form(self):
        """The model would answer "Hello, world!"; a schema, an expression or a forced call holds it to another form."""
        chat = self.openai.chat.completions

        class Sum(pydantic.BaseModel):
            total: int = pydantic.Field(ge=-20, le=20)
            parity: Literal["even", "odd"]
            parts: list[bool] | None

        for stream in (False, True):
            with self.subTest(stream=stream):
                options = {"model": "chain", "messages": USER, "response_format": Sum, "seed": 1}
                if stream:
                    with chat.stream(**options) as answer:
                        message = answer.get_final_completion().choices[0].message
                else:
                    message = chat.parse(**options).choices[0].message
                self.assertIsInstance(message.parsed, Sum)
        answer = self.openai.responses.parse(model="chain", input="hi", text_format=Sum)
        self.assertIsInstance(answer.output_parsed, Sum)
        answer = self.openai.completions.create(
            model="chain", prompt="hi", n=3, extra_body={"structured_outputs": {"regex": "[a-c]{4}|no"}}
        )
        for choice in answer.choices:
            self.assertRegex(choice.text, "^([a-c]{4}|no)$")
        answer = chat.create(
            model="chain", messages=USER, extra_body={"structured_outputs": {"choice": ["one", "two"]}}
        )
        self.assertIn(answer.choices[0].message.content, ("one", "two"))

    def test_forced_calls(self):
        tool = {"type": "function", "function": {"name": "flip", "parameters": FLIP}}
        for choice in ("required", {"type": "function", "function": {"name": "flip"}}):
            answer = self.openai.chat.completions.create(
                model="chain",
                messages=USER,
                tools=[*TOOLS, tool],
                tool_choice=choice,
                parallel_tool_calls=False,
            )
            (call,) = answer.choices[0].message.tool_calls
            schema = {"add": SCHEMA, "flip": FLIP}[call.function.name]
            jsonschema.validate(json.loads(call.function.arguments), schema)
        self.assertEqual(call.function.name, "flip")
        answer = self.anthropic.messages.create(
            model="chain",
            max_tokens=200,
            messages=USER,
            tools=[{"name": "flip", "input_schema": FLIP}],
            tool_choice={"type": "any"},
        )
        self.assertIn(answer.content[0].input["up"], (True, False))
        self.assertEqual(answer.stop_reason, "tool_use")

    def test_openai_responses(self):
        responses = self.openai.responses
        self.assertEqual(responses.create(model="chain", input="hi").output_text, "Hello, world!")
        with responses.stream(model="chain", input="hi") as stream:
            texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
            self.assertEqual("".join(texts), "Hello, world!")
            self.assertEqual(stream.get_final_response().output_text, "Hello, world!")
        tools = [{"type": "function", **FUNCTION, "strict": False}]
        with responses.stream(model="chain", input="hi", tools=tools) as stream:
            for _ in stream:
                pass
            calls = [item for item in stream.get_final_response().output if item.type == "function_call"]
        self.assertEqual([json.loads(call.arguments) for call in calls], SUMS)

    def test_openai_async_clients_side_by_side(self):
        async def ask():
            async with openai.AsyncOpenAI(base_url=self.server.url, api_key="none") as client:
                create = client.chat.completions.create
                answers = await asyncio.gather(*(create(model="chain", messages=USER) for _ in range(30)))
                return {answer.choices[0].message.content for answer in answers}

        self.assertEqual(asyncio.run(ask()), {"Hello, world!"})

    def test_errors_are_the_clients_own(self):
        with self.assertRaisesRegex(openai.NotFoundError, "not served"):
            self.openai.chat.completions.create(model="gpt", messages=USER)
        with self.assertRaisesRegex(openai.BadRequestError, "temperature"):
            self.openai.chat.completions.create(model="chain", messages=USER, temperature=-1)
        with self.assertRaisesRegex(anthropic.NotFoundError, "not served"):
            self.anthropic.messages.create(model="claude", max_tokens=9, messages=USER)
        with self.assertRaisesRegex(anthropic.BadRequestError, "image"):
            content = [{"type": "image", "source": {"type": "url", "url": "http://a"}}]
            self.anthropic.messages.create(
                model="chain", max_tokens=9, messages=[{"role": "user", "content": content}]
            )

    def test_anthropic(self):
        create = self.anthropic.messages.create
        answer = create(model="chain", max_tokens=50, messages=USER, system="Be brief.")
        self.assertEqual((answer.content[0].text, answer.stop_reason), ("Hello, world!", "end_turn"))
        tools = [{"name": "add", "description": "Adds.", "input_schema": SCHEMA}]
        with self.anthropic.messages.stream(
            model="chain", max_tokens=50, messages=USER, tools=tools
        ) as stream:
            final = stream.get_final_message()
        self.assertEqual([block.type for block in final.content], ["thinking", "tool_use", "tool_use"])
        self.assertEqual([block.input for block in final.content[1:]], SUMS)
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "5"} for block in final.content[1:]
        ]
        messages = [
            *USER,
            {"role": "assistant", "content": final.content},
            {"role": "user", "content": results},
        ]
        answer = create(model="chain", max_tokens=50, messages=messages, tools=tools)
        self.assertEqual(answer.content[0].text, "The sum is 5.")

    def test_the_openai_agents_sdk(self):
        set_tracing_disabled(True)
        sums = []

        @function_tool
        def add(a: int, b: int) -> int:
            """Adds."""
            sums.append(a + b)
            return a + b

        async def ask(model):
            async with openai.AsyncOpenAI(base_url=self.server.url, api_key="none") as client:
                agent = Agent(
                    name="adder",
                    instructions="Be brief.",
                    tools=[add],
                    model=model("chain", openai_client=client),
                )
                return (await Runner.run(agent, "What is 2 + 3?")).final_output

        for model in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
            self.assertEqual(asyncio.run(ask(model)), "The sum is 5.")
        self.assertEqual(sums, [5] * 4)


if __name__ == "__main__":
    unittest.main()
