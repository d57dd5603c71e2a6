"""A chat-completions server whose answers the judged completion asks for.

The completion stands in the user's message as "votes: A | B | C": vote n gets the n-th, again from the first one behind
the last. Such an answer is a number (JSON with it for every criterion), or "text: ..." for a message as it is, or
"status: N" for an HTTP status. The model "no-schema" refuses json_schema, and "plain" json_object too. The model "ruler"
ranks trajectories, the last one first, each by the "score: N" in it; "score: none" leaves it out.
"""

import json
import re

import local_server


class ChatHandler(local_server.Handler):
    asked = {}

    def do_POST(self):
        request = self.read_json()
        text = request["messages"][-1]["content"]
        self.server.log(
            {
                "path": self.path,
                "authorization": self.headers["Authorization"],
                "key": self.headers["Idempotency-Key"],
                "request": request,
            }
        )
        kind = request.get("response_format", {}).get("type")
        refused = {"no-schema": ["json_schema"], "plain": ["json_schema", "json_object"]}
        if kind in refused.get(request["model"], []):
            self.reply(400, {"error": {"message": f"response_format of type {kind} is not supported"}})
            return
        if request["model"] == "ruler":
            self.answer(request, "text: " + json.dumps({"scores": self.ranking(text)}))
            return
        with self.server.lock:
            index = self.asked.get(text, 0)
            self.asked[text] = index + 1
        answers = re.search(r"votes: (.*)", text)[1].split(" | ")
        self.answer(request, answers[index % len(answers)].strip())

    def ranking(self, text):
        trajectories = re.findall(r"<<<trajectory (\d+) \w+\n(.*?)\n<<<end of", text, re.DOTALL)
        wanted = [(number, re.search(r"score: ([\w.]+)", told)[1]) for number, told in trajectories]
        return [
            {"trajectory_id": number, "explanation": f"told {score}", "score": float(score)}
            for number, score in reversed(wanted)
            if score != "none"
        ]

    def answer(self, request, wanted):
        if wanted.startswith("status: "):
            self.reply(int(wanted.removeprefix("status: ")), {"error": {"message": "as asked"}})
            return
        if wanted.startswith("text:"):
            content = wanted.removeprefix("text:").strip()
        else:
            criteria = re.search(r"\(best\): (.*)\.\n", request["messages"][0]["content"])[1]
            scores = {name: float(wanted) for name in json.loads(f"[{criteria}]")}
            content = json.dumps({"reason": "as asked", **scores})
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100}
        self.reply(200, {"object": "chat.completion", "choices": [choice], "usage": usage})


if __name__ == "__main__":
    local_server.serve(ChatHandler)
