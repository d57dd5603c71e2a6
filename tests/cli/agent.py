"""An agent for tests: plays the guessing game of its row through the run's endpoint.

A line of standard input is a task, a line of standard output its end. The first argument says how it behaves.
"""

import json
import os
import random
import sys
import time
import urllib.error
import urllib.request

HOW = sys.argv[1] if len(sys.argv) > 1 else "plays"


def post(url, key, body):
    request = urllib.request.Request(
        url,
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def play(task):
    """The reward of a game: each odd number of letters in an answer counts."""
    messages = list(task["row"]["prompt"])
    reward = 0.0
    ask = {"model": task["model"]}
    for turn in range(4):
        body = ask | {"messages": messages}
        answer = post(task["base_url"] + "/chat/completions", task["api_key"], body)
        message = answer["choices"][0]["message"]
        reward += len(message["content"] or "") % 2
        if HOW == "waits":
            time.sleep(random.Random(task["api_key"] + str(turn)).random() / 5)
        messages += [message, {"role": "user", "content": f"turn {turn}"}]
        if HOW == "forks" and turn == 2:  # asks again from its second turn on
            messages = [*messages[:-2], {"role": "user", "content": "again"}]
        if HOW == "forgets" and turn == 1:  # a conversation of its own
            messages = [{"role": "user", "content": "Anew."}]
    if HOW == "asks-for-a-form":
        form = {"format": {"type": "json_schema", "schema": {"type": "object"}}}
        body = ask | {"max_tokens": 5, "messages": messages, "output_config": form}
        post(task["base_url"] + "/messages", task["api_key"], body)
    return reward


def misbehave(task):
    """What a failing agent does in place of a game, for one task in three."""
    if task["row"]["number"] % 3:
        return play(task)
    if HOW == "dies":
        os._exit(3)
    if HOW == "hangs":
        time.sleep(1000)
    if HOW == "babbles":
        print("nonsense", flush=True)
        return None
    if HOW == "nan":
        return float("nan")
    if HOW == "floods":
        print("x" * (1 << 21), flush=True)
    if HOW == "silent":  # never asks
        return 1.0
    raise RuntimeError("the game is broken")


def main():
    for line in sys.stdin:
        task = json.loads(line)
        answer = {"id": task["id"]}
        try:
            is_good = HOW in ("plays", "waits", "forks", "forgets", "posts", "asks-for-a-form")
            answer["reward"] = play(task) if is_good else misbehave(task)
            if HOW == "posts":
                url = f"{task['base_url']}/episodes/{task['api_key']}/reward"
                post(url, task["api_key"], {"reward": answer.pop("reward")})
        except urllib.error.HTTPError as error:
            answer["reward"] = 0.0
            sys.stderr.write(f"agent: {error.code} {error.read().decode()}\n")
        except RuntimeError as error:
            answer["error"] = str(error)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
