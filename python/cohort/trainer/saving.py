"""Models that a trainer writes and uploads."""

import os
from typing import Any


def save_model(run: Any, output_dir: str, target: str) -> None:
    """Writes the model of a run into `target`, whose other files stay."""
    staged = os.path.join(output_dir, "inputs", f"saving-{os.getpid()}")
    run.save_model(staged)
    os.makedirs(target, exist_ok=True)
    for name in os.listdir(staged):
        os.replace(os.path.join(staged, name), os.path.join(target, name))
    os.rmdir(staged)


def push(folder: str, args: Any, token: str | None, message: str, blocking: bool) -> Any:
    """Uploads a folder to args.hub_model_id, or to a repository named as the run's directory; returns what
    huggingface_hub does."""
    from huggingface_hub import HfApi

    api = HfApi(token=token or args.hub_token)
    name = args.hub_model_id or os.path.basename(os.path.abspath(args.output_dir))
    repo = api.create_repo(name, private=args.hub_private_repo, exist_ok=True)
    return api.upload_folder(
        repo_id=repo.repo_id,
        folder_path=folder,
        commit_message=message,
        revision=args.hub_revision,
        run_as_future=not blocking,
    )
