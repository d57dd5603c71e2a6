"""The rooms of this recipe, with replies that name only what changed."""

import functools

from cohort.environments import KeyDoor

Room = functools.partial(KeyDoor, redraw=False)
