"""What was learned about a model's drafts, from one start of the engine to the next."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from common.store import Store

log = logging.getLogger("engine.draft")

LEARNED = Store("drafts", 2, dict[str, object])


def kept_chances(model: str) -> dict[str, object] | None:
    """The chooser's state for the model of this identity (`models.identity`); None if none can be read."""
    return LEARNED.get(model)


def keep_chances(model: str, state: Mapping[str, object]) -> None:
    """A folder that cannot be written is noted in the log, no failure."""
    try:
        LEARNED.put(dict(state), model)
    except OSError as error:
        log.warning("What was learned about this model's drafts cannot be kept: %s", error)
