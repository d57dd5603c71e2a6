from cohort._cohort import engine, objectives

__all__ = ["engine", "objectives"]
