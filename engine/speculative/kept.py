"""What was learned about a model's drafts, from one start of the engine to the next."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from common.files import write_atomically
from common.folders import cache_folder

log = logging.getLogger("engine.draft")


def _path(model: str) -> Path:
    return cache_folder() / "drafts" / f"{hashlib.sha256(model.encode()).hexdigest()[:32]}.json"


def kept_chances(model: str) -> dict[str, object] | None:
    """The chooser's state for the model of this identity (`models.identity`); None if none can be read."""
    try:
        return msgspec.json.decode(_path(model).read_bytes(), type=dict[str, object])
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        log.warning("What was learned about this model's drafts cannot be read (%s); it is learned anew.", error)
        return None


def keep_chances(model: str, state: Mapping[str, object]) -> None:
    """A folder that cannot be written is noted in the log, no failure."""
    try:
        write_atomically(_path(model), msgspec.json.encode(state))
    except OSError as error:
        log.warning("What was learned about this model's drafts cannot be kept: %s", error)
