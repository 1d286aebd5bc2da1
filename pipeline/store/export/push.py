"""Uploading a finished dataset folder to a hub.

The hub's own client does the work and owns its retries. An upload is one commit: readers see the old state until all
files have arrived. Files travel by content hash before that commit, so a broken upload that is started again sends
only what had not arrived.
"""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.records import InputError, RunError


def push(folder: Path, repo: str, *, private: bool = True, message: str = "") -> str:
    """Uploads `folder` to the dataset repository `repo` (`owner/name`), made if it is not there; returns its address.

    The hub is the one in HF_ENDPOINT, the token that of HF_TOKEN or of the hub's own login. Raises InputError when the
    folder is no finished export and RunError when the hub refuses or stays down.
    """
    if not (folder / "README.md").is_file() or not (folder / "data").is_dir():
        raise InputError(
            f"{folder} is no exported dataset: it has no README.md and data folder.",
            way_out="Make one with `tracemill export`.",
        )
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    hub = HfApi(token=os.environ.get("HF_TOKEN"))
    try:
        hub.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        done = hub.upload_folder(
            repo_id=repo,
            repo_type="dataset",
            folder_path=folder,
            commit_message=message or f"Dataset {folder.name}",
        )
    except HFValidationError as error:
        raise InputError(
            f"{repo!r} cannot name a repository: {error}", way_out="Use the form owner/name."
        ) from error
    except (HfHubHTTPError, httpx2.HTTPError, OSError, ValueError, RuntimeError) as error:
        raise RunError(
            f"The upload of {folder} to {repo} broke off: {_reason(error)}",
            way_out="The hub still shows its former state. Run the same command again:"
            " files that arrived are not sent twice.",
        ) from error
    return str(done.commit_url)


def _reason(error: Exception) -> str:
    """The error and its cause in one line; a hub's answer may be long, and a token is never part of it."""
    cause = f"{error} {error.__cause__ or ''}"
    return " ".join(cause.split())[:300]
