"""Conversations of a scripted player, for `cohort sft`."""

import copy


def conversation(environment, row, solution, ending="Done."):
    """Returns the messages of an episode that `solution` plays: the prompt, calls with their results, and `ending`.

    `environment` is reset by `row`, whose `prompt` is a list of messages. `solution(environment)` returns the calls that
    solve it, as pairs of a tool's name and its arguments. Raises what the environment raises.
    """
    observation = environment.reset(**row)
    messages = copy.deepcopy(row["prompt"])
    messages[-1]["content"] += observation or ""
    for name, arguments in solution(environment):
        call = {"type": "function", "function": {"name": name, "arguments": arguments}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        content = str(getattr(environment, name)(**arguments))
        messages.append({"role": "tool", "name": name, "content": content})
    return [*messages, {"role": "assistant", "content": ending}]
