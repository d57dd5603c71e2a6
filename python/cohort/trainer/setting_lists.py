"""Three lists that say what each setting of a config means here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SettingLists:
    """Settings that act, by the place where they act; those without a meaning, with the reason; and those that are refused
    unless they are at their defaults, with what to do instead."""

    acts: dict[str, tuple[str, ...]]
    ignored: dict[str, str]
    refused: dict[str, str]

    def __add__(self, other: "SettingLists") -> "SettingLists":
        """Both; `other` decides what is in two lists."""
        own = {name for names in other.acts.values() for name in names} | {*other.ignored, *other.refused}
        acts = {place: tuple(name for name in names if name not in own) for place, names in self.acts.items()}
        for place, names in other.acts.items():
            acts[place] = (*acts.get(place, ()), *names)
        return SettingLists(
            {place: names for place, names in acts.items() if names},
            {name: why for name, why in self.ignored.items() if name not in own} | other.ignored,
            {name: why for name, why in self.refused.items() if name not in own} | other.refused,
        )

    def of(self, fields: set[str]) -> "SettingLists":
        """Those that are fields of a config."""
        acts = {place: tuple(name for name in names if name in fields) for place, names in self.acts.items()}
        return SettingLists(
            {place: names for place, names in acts.items() if names},
            {name: why for name, why in self.ignored.items() if name in fields},
            {name: why for name, why in self.refused.items() if name in fields},
        )
