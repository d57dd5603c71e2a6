"""The submodules of the extension; tools/make_stubs.py makes their stubs."""

from cohort._cohort import engine, objectives

__all__ = ["engine", "objectives"]
