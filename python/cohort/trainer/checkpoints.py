"""The checkpoints in a run's directory."""

import os


def newest_checkpoint(output_dir: str) -> str | None:
    """The directory of the newest one; None if there is none."""
    folder = os.path.join(output_dir, "checkpoints")
    if not os.path.isdir(folder):
        return None
    steps = [name for name in os.listdir(folder) if name.startswith("step-")]
    return os.path.join(folder, max(steps)) if steps else None


def resumes(resume: str | bool | None, output_dir: str) -> bool:
    """Whether the run in output_dir goes on. ValueError for a checkpoint that is not its newest one."""
    if not isinstance(resume, str | os.PathLike):
        return bool(resume)
    newest = newest_checkpoint(output_dir)
    known = [os.path.realpath(path) for path in (output_dir, newest) if path is not None]
    if os.path.realpath(resume) not in known:
        raise ValueError(
            f"resume_from_checkpoint: {resume} is not the newest checkpoint of {output_dir}; give True"
        )
    return True
