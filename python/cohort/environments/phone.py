"""A telephone whose screens are text: numbered elements to tap, and fields to type into."""

import copy
import random
import re

PROMPT = "You use a phone. Each screen lists its elements with numbers to tap.\n"
NAMES = ("Ana", "Ben", "Chloe", "David", "Emma", "Farid", "Grace", "Hugo", "Iris", "Jonas")
TEXTS = ("hello", "on my way", "see you at noon", "happy birthday", "call me back", "thank you")
SWITCHES = ("Airplane mode", "Wi-Fi", "Bluetooth", "Dark mode")
KINDS = ("alarm", "remove_alarm", "message", "forward_number", "switch")
TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


class Phone:
    """An environment that shows a phone's screens as text, whose reward is 1 if the phone ends as the task asks.

    The row's `seed` (an integer, 0 by default) and `kind` (None for any, or one of `alarm`, `remove_alarm`, `message`,
    `forward_number`, `switch`) give the phone and the task. The reward compares all that the phone stores with what the task asks for,
    so a wrong extra message or switch gives 0. Texts that were typed but neither sent nor saved do not count.
    """

    @classmethod
    def rows(cls, count, seed=0, kind=None):
        """Returns `count` rows whose phones begin with the seed `seed`."""
        prompt = [{"role": "user", "content": PROMPT}]
        return [{"prompt": prompt, "seed": seed + index, "kind": kind} for index in range(count)]

    def reset(self, seed=0, kind=None, **columns):
        """Makes the phone of a seed and returns the task and the screen. Raises ValueError for an unknown kind."""
        if kind not in (None, *KINDS):
            raise ValueError(f"there is no kind {kind!r}: it is one of {', '.join(KINDS)}, or None")
        generator = random.Random(f"phone {seed}")
        names = sorted(generator.sample(NAMES, 4))
        numbers = [f"0{generator.randrange(100, 1000)} {generator.randrange(1000, 10000)}" for _ in names]
        self._data = {
            "contacts": dict(zip(names, numbers)),
            "messages": {name: [] for name in names},
            "switches": {name: generator.random() < 0.5 for name in SWITCHES},
            "alarms": sorted({_time(generator) for _ in range(2)}),
        }
        kind = kind or generator.choice(KINDS)
        self._task, self._goal = _task(generator, kind, self._data)
        self._screens, self._field, self._typed = [("home",)], False, ""
        return f"Task: {self._task}\n{self._drawing()}"

    def tap(self, element: int) -> str:
        """
        Taps an element of the screen.

        Args:
            element: The number of the element.
        """
        elements = self._elements()
        if not 1 <= element <= len(elements):
            return f"There is no element {element}.\n{self._drawing()}"
        return self._after(elements[element - 1][1])

    def type_text(self, text: str) -> str:
        """
        Types a text into the field that was tapped last, in place of what it holds.

        Args:
            text: The text.
        """
        if not self._field:
            return f"No field is chosen: tap one first.\n{self._drawing()}"
        self._typed = text
        return self._drawing()

    def back(self) -> str:
        """
        Returns to the screen before.
        """
        if len(self._screens) == 1:
            return self._drawing()
        return self._after(("back",))

    def home(self) -> str:
        """
        Returns to the home screen.
        """
        return self._after(("home",))

    def get_reward(self) -> float:
        """1 if the phone stores exactly what the task asks for, else 0."""
        return float(self._data == self._goal)

    @property
    def state(self):
        """A text that is equal for equal states: screens, fields and all that is stored."""
        return repr((self._screens, self._field, self._typed, self._data, self._goal))

    def _after(self, action):
        """Does what a tap does and returns the screen."""
        done = self._act(*action)
        return f"{done}\n{self._drawing()}" if done else self._drawing()

    def _act(self, name, *values):
        screen = self._screens[-1]
        if name == "field":
            self._field = True
            return ""
        if name == "switch":
            self._data["switches"][values[0]] ^= True
            return ""
        if name == "delete":
            self._data["alarms"].remove(values[0])
            return f"The alarm {values[0]} is deleted."
        if name == "save" and not TIME.fullmatch(self._typed):
            return "The time must be like 07:30."
        if name == "send" and not self._typed:
            return "The message is empty."
        typed, self._typed, self._field = self._typed, "", False
        if name == "send":
            self._data["messages"][screen[1]].append(typed)
            return "The message is sent."
        if name == "save":
            self._data["alarms"] = sorted({*self._data["alarms"], typed})
            self._screens.pop()
            return f"The alarm {typed} is set."
        if name == "back":
            self._screens.pop()
        elif name == "home":
            self._screens = [("home",)]
        else:
            self._screens.append((name, *values))
        return ""

    def _elements(self):
        """The elements of the screen: what each shows, and what a tap does."""
        name, *values = self._screens[-1]
        data = self._data
        if name == "home":
            return [(app.capitalize(), (app,)) for app in ("contacts", "messages", "settings", "clock")]
        if name == "contacts":
            return [(contact, ("contact", contact)) for contact in data["contacts"]]
        if name == "contact":
            return [("Message", ("chat", values[0]))]
        if name == "messages":
            return [(contact, ("chat", contact)) for contact in data["contacts"]]
        if name == "settings":
            return [
                (f"{one}: {'on' if on else 'off'}", ("switch", one)) for one, on in data["switches"].items()
            ]
        if name == "clock":
            alarms = [(f"Delete {alarm}", ("delete", alarm)) for alarm in data["alarms"]]
            return [("New alarm", ("alarm",)), *alarms]
        label = "Text" if name == "chat" else "Time"
        field = f"{label} field: {self._typed or '(empty)'}{' <' if self._field else ''}"
        return [(field, ("field",)), ("Send", ("send",)) if name == "chat" else ("Save", ("save",))]

    def _drawing(self):
        name, *values = self._screens[-1]
        lines = [" ".join(["==", name.capitalize(), *values, "=="])]
        if name == "contact":
            lines.append(f"Number: {self._data['contacts'][values[0]]}")
        if name == "chat":
            lines += [f"You: {text}" for text in self._data["messages"][values[0]]]
        lines += [f"[{place}] {label}" for place, (label, _) in enumerate(self._elements(), 1)]
        return "\n".join(lines)


def _time(generator):
    return f"{generator.randrange(24):02}:{generator.randrange(0, 60, 5):02}"


def _task(generator, kind, data):
    """What the task says, and what the phone stores once it is done."""
    goal = copy.deepcopy(data)
    one, other = generator.sample(list(data["contacts"]), 2)
    if kind == "alarm":
        time = _time(generator)
        while time in data["alarms"]:
            time = _time(generator)
        goal["alarms"] = sorted([*data["alarms"], time])
        return f"set an alarm for {time}.", goal
    if kind == "remove_alarm":
        time = generator.choice(data["alarms"])
        goal["alarms"].remove(time)
        return f"delete the alarm at {time}.", goal
    if kind == "message":
        text = generator.choice(TEXTS)
        goal["messages"][one].append(text)
        return f"send '{text}' to {one}.", goal
    if kind == "forward_number":
        goal["messages"][one].append(data["contacts"][other])
        return f"send the number of {other} to {one}.", goal
    name = generator.choice(SWITCHES)
    goal["switches"][name] ^= True
    return f"turn {'on' if goal['switches'][name] else 'off'} {name}.", goal


def solution(environment):
    """Returns the calls that do the task from the home screen, as pairs of a tool's name and its arguments."""
    data, goal, player = environment._data, environment._goal, _Player(environment)
    for name, texts in goal["messages"].items():
        for text in texts[len(data["messages"][name]) :]:
            for other, number in data["contacts"].items():
                if text == number:
                    player.tap("Contacts").tap(other).home()
            player.tap("Messages").tap(name).tap("Text field").type_text(text).tap("Send").home()
    for name, is_on in goal["switches"].items():
        if is_on != data["switches"][name]:
            player.tap("Settings").tap(name).home()
    for alarm in goal["alarms"]:
        if alarm not in data["alarms"]:
            player.tap("Clock").tap("New alarm").tap("Time field").type_text(alarm).tap("Save").home()
    for alarm in data["alarms"]:
        if alarm not in goal["alarms"]:
            player.tap("Clock").tap(f"Delete {alarm}").home()
    return player.calls[:-1] if player.calls else []  # without the last return to the home screen


class _Player:
    """Finds elements by what they show, on a copy of the phone, and keeps the calls."""

    def __init__(self, environment):
        self.phone = copy.deepcopy(environment)
        self.calls = []

    def tap(self, label):
        labels = [shown for shown, _ in self.phone._elements()]
        place = next(place for place, shown in enumerate(labels, 1) if shown.startswith(label))
        return self._call("tap", element=place)

    def type_text(self, text):
        return self._call("type_text", text=text)

    def home(self):
        return self._call("home")

    def _call(self, name, **arguments):
        getattr(self.phone, name)(**arguments)
        self.calls.append((name, arguments))
        return self
