"""Questions about a made-up world, whose answers need several searches."""

import random
import re

PROMPT = "Search the facts, then answer with one name.\n"
# What a fact says of two names, the relations that lead to it, and how a question goes on.
RELATIONS = {
    "teacher": "The teacher of {0} is {1}.",
    "town": "{0} lives in {1}.",
    "river": "The town {0} lies on the river {1}.",
    "lake": "The river {0} flows into the lake {1}.",
}
QUESTIONS = {
    ("teacher", "town"): "In which town does the teacher of {0} live?",
    ("town", "river"): "On which river lies the town where {0} lives?",
    ("teacher", "town", "river"): "On which river lies the town where the teacher of {0} lives?",
    ("town", "river", "lake"): "Into which lake flows the river of the town where {0} lives?",
}
STARTS = "b br d dr f g gr h k kl l m n p pr r s st t tr v z".split()
VOWELS = "a e i o u".split()
ENDS = "l n r s th m".split()


class MultiHop:
    """An environment with a question of 2 or 3 hops over made-up facts, whose reward is 1 for the exact answer.

    The row's `seed` (an integer, 0 by default), `hops` (2, 3 or None for either, the default) and `people` (3 to 200, 12 by default)
    give the world and the question. A search finds the `results` facts that share most words with it, where a rare word counts
    more than a common one. Only the first answer counts; case and signs around it do not matter.
    """

    def __init__(self, results: int = 3):
        if results < 1:
            raise ValueError(f"results is {results}; it must be at least 1")
        self._results = results

    @classmethod
    def rows(cls, count, seed=0, hops=None, people=12):
        """Returns `count` rows whose worlds begin with the seed `seed`."""
        prompt = [{"role": "user", "content": PROMPT}]
        columns = {"hops": hops, "people": people}
        return [{"prompt": prompt, "seed": seed + index, **columns} for index in range(count)]

    def reset(self, seed=0, hops=None, people=12, **columns):
        """Makes the world of a seed and returns the question. Raises ValueError for values that are out of range."""
        if hops not in (None, 2, 3):
            raise ValueError(f"hops is {hops!r}; it must be 2, 3 or None")
        if not isinstance(people, int) or not 3 <= people <= 200:
            raise ValueError(f"people is {people!r}; it must be an integer between 3 and 200")
        generator = random.Random(f"multi-hop {seed} {people}")
        self._links = _world(generator, people)
        self._facts = [
            RELATIONS[relation].format(one, other)
            for relation, links in self._links.items()
            for one, other in links.items()
        ]
        generator.shuffle(self._facts)
        self._hops = generator.choice([chain for chain in QUESTIONS if hops in (None, len(chain))])
        self._person = generator.choice(list(self._links["town"]))
        self._given = None
        return QUESTIONS[self._hops].format(self._person)

    def search(self, query: str) -> str:
        """
        Searches the facts and returns those that share most words with the query.

        Args:
            query: Words to search for, such as a name.
        """
        facts = [set(_words(fact)) for fact in self._facts]
        words = sorted(set(_words(query)) & set().union(*facts))
        weights = {word: 1 / sum(word in fact for fact in facts) for word in words}
        scores = [sum(weights[word] for word in words if word in fact) for fact in facts]
        order = sorted(range(len(facts)), key=lambda place: -scores[place])
        found = [self._facts[place] for place in order[: self._results] if scores[place] > 0]
        return "\n".join(found) or "Nothing is found."

    def answer(self, text: str) -> str:
        """
        Gives the answer to the question and ends the task.

        Args:
            text: The answer: one name.
        """
        if self._given is not None:
            return "You have answered already: only the first answer counts."
        self._given = text
        return "The answer is noted. You are done."

    def get_reward(self) -> float:
        """1 for the exact answer, 0 for another one or none."""
        return float(self._given is not None and _words(self._given) == _words(self._wanted()))

    def _wanted(self):
        name = self._person
        for relation in self._hops:
            name = self._links[relation][name]
        return name


def solution(environment):
    """Returns the calls that find the answer, as pairs of a tool's name and its arguments: a search for each hop."""
    calls, name = [], environment._person
    for relation in environment._hops:
        calls.append(("search", {"query": RELATIONS[relation].format(name, "").rstrip(" .")}))
        name = environment._links[relation][name]
    return [*calls, ("answer", {"text": name})]


def _world(generator, people):
    """The relations between made-up names: each by one other name. People share towns, towns rivers, and rivers lakes."""
    taken = set()
    names = [_name(generator, taken) for _ in range(people)]
    towns, rivers, lakes = ([_name(generator, taken) for _ in range(people // 2 + 1)] for _ in range(3))
    teachers = dict(zip(names, names[1:] + names[:1]))
    return {
        "teacher": teachers,
        "town": {name: generator.choice(towns) for name in names},
        "river": {town: generator.choice(rivers) for town in towns},
        "lake": {river: generator.choice(lakes) for river in rivers},
    }


def _name(generator, taken):
    while True:
        syllables = [generator.choice(STARTS) + generator.choice(VOWELS) for _ in range(2)]
        name = ("".join(syllables) + generator.choice(ENDS)).capitalize()
        if name not in taken:
            taken.add(name)
            return name


def _words(text):
    return re.findall(r"\w+", text.casefold())
