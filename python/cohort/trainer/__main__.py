"""Prints docs/python/trainer-settings.md."""

from cohort.trainer.settings import page

print(page(), end="")
